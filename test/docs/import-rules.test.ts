import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, posix } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type ImportRule, readRules, settingsText } from "../../scripts/import-rules.mjs";

const ROOT = join(import.meta.dirname, "../..");
const BIOME = join(ROOT, "node_modules/.bin/biome");
const SETTINGS = ".biome.imports.json";
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** Imports that each place with a rule must not have. */
const FORBIDDEN: Readonly<Record<string, readonly string[]>> = {
  "src/domain/*": ["../pool/turn-lock.js", "../config/config.js", "../../gen/gen_pb.js", "./sub/deep.js", "libsql"],
  "src/domain/shapes/*": ["../../api/convert.js", "../../../gen/gen_pb.js", "node:fs", "libsql"],
  "src/storage/*": ["../pool/turn-lock.js", "../api/convert.js", "../../gen/gen_pb.js", "./../server/server.js"],
  "src/storage/storage-manager.ts": ["./memory/memory-log-store.js", "./history/log-store.js", "mongodb"],
  "src/storage/storage-provider.ts": ["./sqlite/rows.js", "./open-storage.js", "libsql"],
  "src/storage/memory/*": ["../sqlite/rows.js", "../mongodb/log-end.js", "../storage-manager.js", "libsql", "mongodb"],
  "src/storage/sqlite/*": ["../memory/log-table.js", "../mongodb/log-end.js", "../../pool/turn-lock.js", "mongodb"],
  "src/storage/mongodb/*": ["../memory/log-table.js", "../sqlite/rows.js", "../../config/config.js", "libsql"],
  "src/storage/postgres/*": ["../sqlite/rows.js", "../private-file.js", "../../config/config.js", "libsql", "mongodb"],
  "src/pool/*": ["../storage/history/heads.js", "../storage/open-storage.js", "../api/convert.js", "mongodb"],
  "src/api/*": ["../storage/storage-provider.js", "../server/server.js", "../config/config.js", "@grpc/grpc-js"],
  "src/codec/*": [
    "../server/server.js",
    "../storage/storage-provider.js",
    "../pool/turn-lock.js",
    "../console/pages.js",
  ],
  "src/config/*": ["../server/server.js", "../commands/serve.js"],
  "src/console/*": ["../server/server.js", "../domain/errors.js", "./app/main.js"],
  "clients/typescript/src/*": ["./adapters/ai-sdk.js", "../../../src/domain/errors.js", "node:fs", "@grpc/grpc-js"],
  "clients/typescript/src/adapters/*": ["../../../../src/api/convert.js", "node:fs", "@connectrpc/connect-node"],
  "src/storage/history/*": ["../memory/log-table.js", "../sqlite/rows.js", "../../pool/turn-lock.js", "libsql"],
  "src/storage/history/read/*": ["../append/appender.js", "../write/placer.js", "../follow/event-queue.js", "mongodb"],
  "src/storage/history/write/*": ["../edit/editor.js", "../append/appender.js", "../../sqlite/rows.js"],
  "src/storage/history/annotations/*": ["../edit/editor.js", "../drafts/drafts.js", "../../memory/log-table.js"],
  "src/storage/history/attachments/*": ["../append/appender.js", "../edit/editor.js", "../../memory/log-table.js"],
  "src/storage/history/append/*": ["../edit/editor.js", "../drafts/drafts.js", "../../../gen/gen_pb.js"],
  "src/storage/history/sums/*": ["../append/appender.js", "../../memory/log-table.js", "../../../pool/turn-lock.js"],
  "src/storage/history/edit/*": ["../append/appender.js", "../erase/eraser.js", "../../../server/server.js"],
  "src/storage/history/drafts/*": ["../edit/editor.js", "../follow/followers.js", "../../../config/config.js"],
  "src/storage/history/erase/*": ["../edit/editor.js", "../append/appender.js", "../../mongodb/log-end.js"],
  "src/storage/history/feed/*": ["../edit/editor.js", "../../memory/log-table.js", "../../../api/convert.js"],
  "src/storage/history/follow/*": ["../append/appender.js", "../write/placer.js", "../../../api/convert.js"],
  "src/storage/history/transfer/*": [
    "../append/appender.js",
    "../../memory/log-table.js",
    "../../../pool/turn-lock.js",
  ],
  "src/server/*": ["../storage/open-storage.js", "../pool/root-pool.js", "../commands/serve.js", "mongodb"],
  "src/server/auth/*": ["../http/body.js", "../rest/handler.js", "../../domain/errors.js", "../server.js", "libsql"],
  "src/server/call/*": ["../http/body.js", "../grpc/gate.js", "../../domain/errors.js", "../../codec/exact-json.js"],
  "src/server/limits/*": ["../openai/handler.js", "../http-server.js", "../../codec/exact-json.js", "@grpc/grpc-js"],
  "src/server/http/*": ["../rpc/handler.js", "../../domain/errors.js", "../../codec/exact-json.js", "../server.js"],
  "src/server/grpc/*": ["../rpc/handler.js", "../rest/handler.js", "../../domain/errors.js", "../http-server.js"],
  "src/server/rpc/*": ["../grpc/gate.js", "../../pool/root-pool.js", "@grpc/grpc-js", "@connectrpc/connect-node"],
  "src/server/webhook/*": ["../rest/handler.js", "../../domain/errors.js", "../../codec/exact-json.js", "../server.js"],
  "src/server/openai/*": ["../rest/handler.js", "../rpc/handler.js", "../../domain/errors.js", "@grpc/grpc-js"],
  "src/server/rest/*": ["../openai/handler.js", "../grpc/gate.js", "../../storage/open-storage.js", "@grpc/grpc-js"],
  "src/server/rest/openapi/*": ["../../openai/handler.js", "../../../domain/errors.js", "../../http/body.js"],
  "src/console/app/*": ["../pages.js", "../../domain/errors.js", "../../../gen/gen_pb.js", "node:fs"],
  "src/console/app/api/*": ["../state/ui.js", "../view/app.js", "../../../api/convert.js", "node:fs"],
  "src/console/app/text/*": ["../state/ui.js", "../view/app.js", "../../../domain/json.js", "node:fs"],
  "src/parts/*": ["../domain/json.js", "../console/app/api/types.js", "node:fs"],
  "src/console/app/parts/*": ["../state/ui.js", "../view/app.js", "../../../domain/json.js", "node:fs"],
  "src/console/app/state/*": ["../view/app.js", "../../../storage/storage-provider.js", "node:fs"],
  "src/console/app/view/*": ["../main.js", "../../pages.js", "../../../server/server.js", "node:fs"],
  "src/console/app/view/dialogs/*": ["../../main.js", "../../../../domain/json.js", "node:fs"],
  "src/console/app/view/list/*": ["../../main.js", "../../../../pool/turn-lock.js", "node:fs"],
  "src/console/app/view/pages/*": ["../../main.js", "../../../../config/config.js", "node:fs"],
  "src/console/app/view/panel/*": ["../../docs/docs.js", "../../../../config/config.js", "node:fs"],
  "src/console/app/view/parts/*": ["../../docs/docs.js", "../../../../gen/gen_pb.js", "node:fs"],
  "src/console/app/docs/*": ["../view/app.js", "../state/ui.js", "../../../server/server.js", "node:fs"],
};

let rules: ImportRule[];
beforeAll(() => {
  rules = readRules(read("docs/architecture.md"));
});

describe("the tables of who may import what", () => {
  it("are what the linter enforces", () => {
    expect(read(SETTINGS), "run npm run generate").toBe(settingsText(read("docs/architecture.md")));
    expect(JSON.parse(read(".biome.json")).extends).toEqual([`./${SETTINGS}`]);
  });

  it("name every file of the source exactly once", () => {
    const sources = execFileSync("git", ["ls-files", "src", "clients/typescript/src"], { cwd: ROOT, encoding: "utf8" })
      .split("\n")
      .filter((path) => /\.tsx?$/.test(path));
    expect(sources.length).toBeGreaterThan(0);
    const places = rules.map(({ place }) => place);
    expect(places.filter((place, i) => places.indexOf(place) !== i)).toEqual([]);
    expect(sources.filter((path) => !places.some((place) => covers(place, path)))).toEqual([]);
    expect(places.filter((place) => !sources.some((path) => covers(place, path)))).toEqual([]);
  });

  it("are refused by the parser when a cell is not a list of names", () => {
    const table = (may: string) => `## Who may import what\n\n| \`domain\` | ${may} | |\n`;
    expect(readRules(table("nothing"))).toHaveLength(1);
    expect(() => readRules(table("`api` and more"))).toThrow('"`api` and more" is not a list of names in backticks');
    expect(() => readRules("## Other\n")).toThrow("has no table");
  });

  it("have an import that must be refused for every place with a rule", () => {
    const restricted = rules.filter(({ everything }) => !everything).map(({ place }) => place);
    expect(Object.keys(FORBIDDEN).sort()).toEqual(restricted.sort());
  });
});

it("the linter refuses forbidden imports in every place, and allows those of a neighbouring file", () => {
  const folder = mkdtempSync(join(tmpdir(), "import-rules-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  copyFileSync(join(ROOT, SETTINGS), join(folder, SETTINGS));
  writeFileSync(join(folder, "biome.json"), JSON.stringify({ root: true, extends: [`./${SETTINGS}`] }));
  for (const [place, specifiers] of Object.entries(FORBIDDEN)) {
    const file = join(folder, probeIn(place));
    mkdirSync(dirname(file), { recursive: true });
    const lines = ["./storage-provider.js", ...specifiers].map((specifier) => `import "${specifier}";\n`);
    writeFileSync(file, lines.join(""));
  }
  const args = ["lint", "--only=style/noRestrictedImports", "--reporter=json", "--max-diagnostics=none", "."];
  const { stdout } = spawnSync(BIOME, args, { cwd: folder, encoding: "utf8" });
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: readonly Diagnostic[] };
  const refused = diagnostics.map(({ location }) => `${posix.normalize(location.path)}:${location.start.line}`);
  const expected = Object.entries(FORBIDDEN).flatMap(([place, specifiers]) =>
    specifiers.map((_, i) => `${probeIn(place)}:${i + 2}`),
  );
  expect(refused.sort()).toEqual(expected.sort());
});

interface Diagnostic {
  readonly location: { readonly path: string; readonly start: { readonly line: number } };
}

/** Whether a place, as the rules name it, is the one of this file. */
function covers(place: string, path: string): boolean {
  if (place.endsWith("/**")) return path.startsWith(place.slice(0, -2));
  return place === path || place === `${posix.dirname(path)}/*`;
}

/** Returns the path of a file that the rule of a place is for. */
function probeIn(place: string): string {
  return place.replace(/\*+$/, "probe.ts");
}
