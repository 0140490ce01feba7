import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { documentedProgram } from "../clients/documented.js";
import { ROOT, run } from "../support/toolchain.js";

const CACHE = join(ROOT, "node_modules/.cache");
const COPIED = ["src", "gen", "proto", "clients/typescript/src", "scripts", "buf.yaml", "buf.gen.yaml", "package.json"];
const bin = (name: string) => join(ROOT, "node_modules/.bin", name);

mkdirSync(CACHE, { recursive: true });
const copy = mkdtempSync(join(CACHE, "guides-"));

// The copy is below node_modules, so that it finds the packages.
beforeAll(() => {
  for (const path of COPIED) cpSync(join(ROOT, path), join(copy, path), { recursive: true });
});

afterAll(() => rmSync(copy, { recursive: true }));

describe("whoever follows a guide", () => {
  it("adds an RPC that compiles", async () => {
    const proto = "proto/sessionpool/v1/message_service.proto";
    edit(
      proto,
      /(?=^ {2}\/\/ [^\n]*\n(?: {2}\/\/[^\n]*\n)* {2}rpc ListMessages\()/m,
      documentedProgram("proto", "rpc GetLastMessage"),
    );
    edit(proto, /$/, documentedProgram("proto", "message GetLastMessageRequest"));
    await run(bin("buf"), ["generate"], { cwd: copy });
    const service = "src/api/message-service.ts";
    await expect(compiled()).rejects.toThrow("Property 'getLastMessage' is missing");
    edit(service, /(?<=^export const messageMethods: .*\n)/m, documentedProgram("ts", "getLastMessage: { scope"));
    edit(service, /$/, documentedProgram("ts", "async function getLastMessage"));
    edit(service, /(?<=^ {2}EraseMessageResponse,\n)/m, "  GetLastMessageRequest,\n");
    edit(
      "src/pool/session-pool.ts",
      /(?<=^export class SessionPool \{\n)/m,
      documentedProgram("ts", "async getLastMessage("),
    );
    await compiled();
  });

  it("adds a reader of another program's files that compiles", async () => {
    const imports = `import { isObject } from "../shape.js";
      import { forEachEntry } from "./for-each-entry.js";
      import type { ForeignSession, JsonReader } from "./reader.js";
      declare function readConversation(value: unknown): ForeignSession;`;
    write(
      "src/commands/transfer/readers/example.ts",
      imports + documentedProgram("ts", "export const example: JsonReader"),
    );
    await compiled();
  });
});

/** Puts a text in at the one place where the pattern matches. */
function edit(path: string, place: RegExp, added: string): void {
  const text = readFileSync(join(copy, path), "utf8");
  expect(text.match(place), `${place} in ${path}`).not.toBeNull();
  writeFileSync(
    join(copy, path),
    text.replace(place, () => added),
  );
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(copy, path)), { recursive: true });
  writeFileSync(join(copy, path), text);
}

/** Compiles the copy's source, as it is now. Rejects with what the compiler says. */
async function compiled(...more: readonly string[]): Promise<void> {
  const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, "tsconfig.json"), "utf8")) as {
    compilerOptions: object;
  };
  // What a guide leaves unused is used in its later steps.
  const options = { ...compilerOptions, noUnusedLocals: false };
  const include = ["src", "gen", ...more];
  write("tsconfig.json", JSON.stringify({ compilerOptions: options, include, exclude: ["src/console/app"] }));
  await run(bin("tsc"), ["--project", "tsconfig.json"], { cwd: copy });
}
