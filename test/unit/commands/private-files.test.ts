import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { addKey, listKeys, removeKey } from "../../../src/commands/keys.js";
import { writeOutput } from "../../../src/commands/transfer/output.js";
import { Spool } from "../../../src/commands/transfer/spool.js";

const MIB = 1024 * 1024;
const KEY = { name: "robot", namespace: "default", scope: "read" } as const;
let folder: string;
const umask = process.umask();

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "session-pool-private-"));
  process.umask(0);
});

afterEach(() => {
  process.umask(umask);
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

describe("even with a umask of 0, only the owner may read", () => {
  it("an export", async () => {
    const path = join(folder, "export.jsonl");
    await writeOutput(path, (write) => write("{}\n"));
    expect([modeOf(path), readFileSync(path, "utf8")]).toEqual([0o600, "{}\n"]);
  });

  it("an export that replaces one that others may read", async () => {
    const path = join(folder, "export.jsonl");
    for (const old of [path, `${path}.partial`]) writeFileSync(old, "old", { mode: 0o666 });
    await writeOutput(path, (write) => write("{}\n"));
    expect([modeOf(path), readdirSync(folder)]).toEqual([0o600, ["export.jsonl"]]);
  });

  it("an export to a path at which somebody else has put a link", async () => {
    const [path, elsewhere] = [join(folder, "export.jsonl"), join(folder, "elsewhere")];
    writeFileSync(elsewhere, "");
    symlinkSync(elsewhere, `${path}.partial`);
    await writeOutput(path, (write) => write("{}\n"));
    expect([modeOf(path), readFileSync(elsewhere, "utf8")]).toEqual([0o600, ""]);
    expect(lstatSync(path).isFile()).toBe(true);
  });

  it("the temporary file that an export makes for a long session, which has no name by then", async () => {
    vi.stubEnv("TMPDIR", folder);
    const spool = new Spool();
    for (const letter of ["a", "b"]) await spool.add(letter.repeat(9 * MIB));
    expect(readdirSync(folder)).toEqual([]);
    const lines: string[] = [];
    await spool.drain(async (data) => void lines.push(data.toString()));
    await spool.close();
    expect(lines.join("") === "a".repeat(9 * MIB) + "b".repeat(9 * MIB)).toBe(true);
  });

  it("a keys file", async () => {
    const path = join(folder, "keys.json");
    await add(path, "robot");
    expect(modeOf(path)).toBe(0o600);
  });
});

describe("an export", () => {
  it("fails when another one replaces its file, which stays", async () => {
    const path = join(folder, "export.jsonl");
    const first = writeOutput(path, async (write) => {
      await write("first\n");
      rmSync(`${path}.partial`);
      writeFileSync(`${path}.partial`, "half of the sec");
    });
    await expect(first).rejects.toThrow("export.jsonl.partial was replaced; does another export write it?");
    expect(readdirSync(folder)).toEqual(["export.jsonl.partial"]);
  });
});

describe("a keys file that is changed", () => {
  it("keeps its mode, and the link that leads to it", async () => {
    const [path, target] = [join(folder, "keys.json"), join(folder, "target.json")];
    writeFileSync(target, "[]");
    chmodSync(target, 0o640);
    symlinkSync("target.json", path);
    await add(path, "robot");
    await removeKey(path, "robot");
    expect([modeOf(target), readFileSync(target, "utf8")]).toEqual([0o640, "[]\n"]);
    expect(lstatSync(path).isSymbolicLink()).toBe(true);
  });

  it.each([
    [{ name: "" }, "The new key: name must be a text"],
    [{ name: "a\nb" }, "The new key: name must have no control characters"],
    [{ name: "a\u009b31m" }, "The new key: name must have no control characters"],
    [{ namespace: "" }, "The new key: namespace must be 1 to 128 characters without control characters"],
    [{ namespace: "a\nb" }, "The new key: namespace must be 1 to 128 characters without control characters"],
    [{ namespace: "n".repeat(129) }, "The new key: namespace must be 1 to 128 characters without control characters"],
  ])("stays as it is when a new key with %j is refused", async (given, problem) => {
    const path = join(folder, "keys.json");
    await add(path, "robot");
    const before = readFileSync(path, "utf8");
    await expect(addKey(path, { ...KEY, name: "other", ...given })).rejects.toThrow(problem);
    expect(readFileSync(path, "utf8")).toBe(before);
  });

  it("may hold a name with control characters, which is listed in one line and can be removed", async () => {
    const path = join(folder, "keys.json");
    await add(path, "robot");
    const [entry] = JSON.parse(readFileSync(path, "utf8")) as [object];
    writeFileSync(path, JSON.stringify([{ ...entry, name: "a\nb\u001b[2J" }]));
    const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
    write.mockClear();
    await listKeys(path, { json: false });
    expect(write.mock.calls).toEqual([[`a\\u000ab\\u001b[2J  ${KEY.scope}  ${KEY.namespace}\n`]]);
    await removeKey(path, "a\nb\u001b[2J");
    expect(namesIn(path)).toEqual([]);
  });

  it("is not changed while another program changes it", async () => {
    const path = join(folder, "keys.json");
    await add(path, "robot");
    const before = readFileSync(path, "utf8");
    writeFileSync(`${path}.new`, "[");
    await expect(add(path, "other")).rejects.toThrow(changedElsewhere(path));
    await expect(removeKey(path, "robot")).rejects.toThrow(changedElsewhere(path));
    expect([readFileSync(path, "utf8"), readFileSync(`${path}.new`, "utf8")]).toEqual([before, "["]);
    rmSync(`${path}.new`);
    await add(path, "other");
    expect([namesIn(path), readdirSync(folder)]).toEqual([["robot", "other"], ["keys.json"]]);
  });

  it("loses no key that was added, even if several are added at the same time", async () => {
    const path = join(folder, "keys.json");
    const names = Array.from({ length: 8 }, (_, i) => `key ${i}`);
    const added = await Promise.allSettled(names.map((name) => add(path, name)));
    // How many of them overlap, and so are refused, depends on how the machine runs them.
    const stored = names.filter((_, i) => added[i]?.status === "fulfilled");
    expect(stored).not.toEqual([]);
    expect(namesIn(path).sort()).toEqual(stored);
    const refusals = added.flatMap((one) => (one.status === "rejected" ? [one.reason.message] : []));
    expect(refusals).toEqual(refusals.map(() => changedElsewhere(path)));
    await add(path, "last");
    expect(readdirSync(folder)).toEqual(["keys.json"]);
  });

  it.skipIf(process.geteuid?.() !== 0)("keeps its owner, so that the server can still read it", async () => {
    const path = join(folder, "keys.json");
    await add(path, "robot");
    chownSync(path, 1000, 1001);
    await removeKey(path, "robot");
    expect(statSync(path)).toMatchObject({ uid: 1000, gid: 1001 });
  });
});

async function add(path: string, name: string): Promise<void> {
  vi.spyOn(process.stdout, "write").mockReturnValue(true);
  await addKey(path, { ...KEY, name });
}

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

function changedElsewhere(path: string): string {
  return `${path}.new exists, so another program is changing the file. If none is, remove it`;
}

function namesIn(path: string): string[] {
  return JSON.parse(readFileSync(path, "utf8")).map(({ name }: { name: string }) => name);
}
