import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BearerAuthenticator } from "../../../src/server/auth.js";
import { KeyFile } from "../../../src/server/key-file.js";
import { hashChosenKey, hashRandomKey, newKey, parseKeyHash } from "../../../src/server/key-hash.js";
import { poll } from "../../support/poll.js";
import { TestLogger } from "../../support/test-logger.js";

let folder: string;
let path: string;
const logger = new TestLogger();
const open: KeyFile[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "session-pool-keys-"));
  path = join(folder, "keys.json");
  logger.lines.length = 0;
});

afterEach(() => {
  for (const file of open.splice(0)) file.close();
  rmSync(folder, { recursive: true });
});

describe("a keys file", () => {
  it("knows the keys whose hashes it holds", async () => {
    const key = newKey();
    const chosen = await hashChosenKey("correct horse battery staple".replaceAll(" ", "-"));
    write([entry("robot", hashRandomKey(key), "a", "write"), entry("person", chosen, "b", "read")]);
    const file = openFile();
    expect(await file.check(key)).toEqual({ name: "robot", namespace: "a", scope: "write" });
    for (let i = 0; i < 2; i++) {
      expect(await file.check("correct-horse-battery-staple")).toEqual({
        name: "person",
        namespace: "b",
        scope: "read",
      });
      expect(await file.check("wrong")).toBeUndefined();
    }
  });

  it("is read again when another file is moved into its place", async () => {
    const [before, after] = [newKey(), newKey()];
    write([entry("before", hashRandomKey(before), "a", "read")]);
    const file = openFile();
    writeFileSync(`${path}.new`, JSON.stringify([entry("after", hashRandomKey(after), "a", "read")]));
    renameSync(`${path}.new`, path);
    await poll(async () => (await file.check(after)) !== undefined, "the new key is known");
    expect(await file.check(before)).toBeUndefined();
  });

  it("forgets what it remembered of slow hashes when it is read again", async () => {
    write([entry("person", await hashChosenKey("first-secret"), "a", "read")]);
    const file = openFile();
    expect(await file.check("first-secret")).toBeDefined();
    write([entry("person", await hashChosenKey("second-secret"), "a", "read")]);
    await poll(async () => (await file.check("first-secret")) === undefined, "the old key is unknown");
    expect(await file.check("second-secret")).toBeDefined();
  });

  it("keeps its keys, and says so, when the new file is broken", async () => {
    const key = newKey();
    write([entry("robot", hashRandomKey(key), "a", "read")]);
    const file = openFile();
    writeFileSync(path, "[{");
    await poll(() => logger.lines.length > 0, "the broken file is logged");
    expect(logger.lines[0]).toMatchObject({
      level: 50,
      msg: "Keys file cannot be used; the keys from before stay valid",
    });
    expect(await file.check(key)).toBeDefined();
  });

  it.each([
    ["{}", "must hold a JSON array"],
    ["[1]", "entry 1 must be an object"],
    [JSON.stringify([entry("", hashRandomKey("k"), "a", "read")]), "entry 1: name must be a text"],
    [JSON.stringify([entry("n", hashRandomKey("k"), "", "read")]), "entry 1: namespace must be 1 to 128 characters"],
    [JSON.stringify([entry("n", hashRandomKey("k"), "a", "root")]), "entry 1: scope must be one of read, write, admin"],
    [JSON.stringify([entry("n", "k", "a", "read")]), "entry 1: hash must be sha256:<hex> or scrypt:"],
    ["nonsense", "cannot be read"],
  ])("that is %s is refused with one clear line", (text, message) => {
    writeFileSync(path, text);
    expect(() => openFile()).toThrow(message);
  });

  it("that is missing is refused with one clear line", () => {
    expect(() => openFile()).toThrow(/^Keys file .* cannot be read: ENOENT/);
  });
});

describe("a hash", () => {
  it.each([
    "",
    "plain",
    "sha256:12",
    "scrypt:3:8:1:c2FsdHNhbHQ:aaaaaaaaaaaaaaaaaaaaaaaa",
    "scrypt:4194304:8:1:c2FsdHNhbHQ:aaaaaaaaaaaaaaaaaaaaaaaa",
  ])("%j is none", (text) => expect(parseKeyHash(text)).toBeUndefined());

  it("of a chosen key differs every time", async () => {
    expect(await hashChosenKey("same")).not.toBe(await hashChosenKey("same"));
  });
});

describe("the Authorization header", () => {
  const authenticator = new BearerAuthenticator([]);

  it.each([undefined, "", "Basic YTpi", "Bearer", "Bearer a b"])("%j holds no key", async (header) => {
    await expect(authenticator.authenticate(header)).rejects.toMatchObject({ code: "unauthenticated" });
  });

  it("with an unknown key does not repeat it", async () => {
    const failure = authenticator.authenticate("Bearer secret");
    await expect(failure).rejects.toMatchObject({
      code: "unauthenticated",
      message: "The key is not known, or no longer valid",
    });
  });
});

function entry(name: string, hash: string, namespace: string, scope: string): object {
  return { name, hash, namespace, scope };
}

function write(entries: object[]): void {
  writeFileSync(path, JSON.stringify(entries));
}

function openFile(): KeyFile {
  const file = new KeyFile(path, logger.pino);
  open.push(file);
  return file;
}
