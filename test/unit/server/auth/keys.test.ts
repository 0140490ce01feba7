import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BearerAuthenticator } from "../../../../src/server/auth/authenticator.js";
import { KeyFile } from "../../../../src/server/auth/key-file.js";
import { hashChosenKey, hashRandomKey, newKey, parseKeyHash } from "../../../../src/server/auth/key-hash.js";
import type { RequestFacts } from "../../../../src/server/auth/principal.js";
import { SlowChecks } from "../../../../src/server/auth/slow-checks.js";
import { poll } from "../../../support/poll.js";
import { quickHash } from "../../../support/quick-hash.js";
import { TestLogger } from "../../../support/test-logger.js";

let folder: string;
let path: string;
const PEER = "192.0.2.1";
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
    expect(await file.check(key, PEER)).toMatchObject({ name: "robot", namespace: "a", scope: "write" });
    for (let i = 0; i < 2; i++) {
      expect(await file.check("correct-horse-battery-staple", PEER)).toMatchObject({
        name: "person",
        namespace: "b",
        scope: "read",
      });
      expect(await file.check("wrong", PEER)).toBeUndefined();
    }
  });

  it("is read again when another file is moved into its place", async () => {
    const [before, after] = [newKey(), newKey()];
    write([entry("before", hashRandomKey(before), "a", "read")]);
    const file = openFile();
    writeFileSync(`${path}.new`, JSON.stringify([entry("after", hashRandomKey(after), "a", "read")]));
    renameSync(`${path}.new`, path);
    await poll(async () => (await file.check(after, PEER)) !== undefined, "the new key is known");
    expect(await file.check(before, PEER)).toBeUndefined();
  });

  it("is read again when a folder on the path to it is replaced", async () => {
    const [before, after] = [newKey(), newKey()];
    for (const [folderName, key] of [
      ["one", before],
      ["two", after],
    ] as const) {
      mkdirSync(join(folder, folderName));
      writeFileSync(
        join(folder, folderName, "keys.json"),
        JSON.stringify([entry("k", hashRandomKey(key), "a", "read")]),
      );
    }
    mkdirSync(join(folder, "config"));
    symlinkSync("../one", join(folder, "config", "current"));
    path = join(folder, "keys.json");
    symlinkSync("config/current/keys.json", path);
    const file = openFile();
    expect(await file.check(before, PEER)).toBeDefined();
    symlinkSync("../two", join(folder, "config", "next"));
    renameSync(join(folder, "config", "next"), join(folder, "config", "current"));
    await poll(async () => (await file.check(before, PEER)) === undefined, "the old key is unknown");
    expect(await file.check(after, PEER)).toBeDefined();
  });

  it("revokes the keys that were removed or changed, and no others", async () => {
    const [kept, removed, changed] = [newKey(), newKey(), newKey()];
    const first = entry("kept", hashRandomKey(kept), "a", "read");
    write([
      first,
      entry("removed", hashRandomKey(removed), "a", "read"),
      entry("c", hashRandomKey(changed), "a", "write"),
    ]);
    const file = openFile();
    const principals = await Promise.all([kept, removed, changed].map((key) => file.check(key, PEER)));
    write([entry("c", hashRandomKey(changed), "a", "read"), first]);
    file.reload();
    expect(principals.map((principal) => principal?.revoked?.aborted)).toEqual([false, true, true]);
    expect(await file.check(changed, PEER)).toMatchObject({ scope: "read" });
  });

  it("binds a key to the owner of its entry, and revokes it when the owner changes", async () => {
    const [bound, free] = [newKey(), newKey()];
    const ofOwner = (owner?: string) => ({ ...entry("bound", hashRandomKey(bound), "a", "write"), owner });
    const other = entry("free", hashRandomKey(free), "a", "write");
    write([ofOwner("ada"), other]);
    const file = openFile();
    const principals = [await file.check(bound, PEER), await file.check(free, PEER)];
    expect(principals.map((principal) => principal?.access)).toEqual([{ owner: "ada" }, undefined]);
    for (const owner of ["bob", undefined, "ada"]) {
      const before = await file.check(bound, PEER);
      write([ofOwner(owner), other]);
      file.reload();
      expect(before?.revoked?.aborted).toBe(true);
      expect((await file.check(bound, PEER))?.access).toEqual(owner && { owner });
    }
    expect(principals[1]?.revoked?.aborted).toBe(false);
  });

  it("revokes a key that was in it twice once it is removed, and not before", async () => {
    const [twice, other] = [newKey(), newKey()];
    const same = entry("twice", hashRandomKey(twice), "a", "read");
    write([same, same]);
    const file = openFile();
    const principal = await file.check(twice, PEER);
    file.reload();
    expect(principal?.revoked?.aborted).toBe(false);
    write([entry("other", hashRandomKey(other), "a", "read")]);
    file.reload();
    expect(principal?.revoked?.aborted).toBe(true);
  });

  it("does not compare a slow hash again when the file changed but its entry did not", async () => {
    const person = entry("person", quickHash("first-secret"), "a", "read");
    write([person]);
    const file = openFile();
    expect(await file.check("first-secret", PEER)).toBeDefined();
    write([person, entry("other", quickHash("second-secret"), "a", "read")]);
    file.reload();
    const wrong = Array.from({ length: 16 }, (_, i) => file.check(`wrong-${i}`, PEER));
    // The slow comparisons are used up, so a key that had to be compared would be refused now.
    expect(await file.check("first-secret", PEER)).toMatchObject({ name: "person" });
    await expect(file.check("wrong", PEER)).rejects.toMatchObject({ code: Code.ResourceExhausted });
    await Promise.allSettled(wrong);
  });

  it("does not compare a wrong key with slow hashes whose right keys are known", async () => {
    const [one, other] = [quickHash("first-secret"), quickHash("second-secret")];
    write([entry("one", one, "a", "read"), entry("other", other, "a", "read")]);
    const file = openFile();
    expect(await file.check("second-secret", PEER)).toMatchObject({ name: "other" });
    expect(await file.check("first-secret", PEER)).toMatchObject({ name: "one" });
    const wrong = Array.from({ length: 100 }, (_, i) => file.check(`wrong-${i}`, PEER));
    // So many comparisons at a time would be refused.
    expect(await Promise.all(wrong)).toEqual(wrong.map(() => undefined));
    expect(await file.check("second-secret", PEER)).toMatchObject({ name: "other" });
  });

  it("forgets the results of slow comparisons when an entry gets another hash", async () => {
    write([entry("person", quickHash("first-secret"), "a", "read")]);
    const file = openFile();
    expect(await file.check("first-secret", PEER)).toBeDefined();
    write([entry("person", quickHash("second-secret"), "a", "read")]);
    await poll(async () => (await file.check("first-secret", PEER)) === undefined, "the old key is unknown");
    expect(await file.check("second-secret", PEER)).toBeDefined();
  });

  it("keeps its keys when the new file is broken, and logs that", async () => {
    const key = newKey();
    write([entry("robot", hashRandomKey(key), "a", "read")]);
    const file = openFile();
    writeFileSync(path, "[{");
    await poll(() => logger.lines.length > 0, "the broken file is logged");
    expect(logger.lines[0]).toMatchObject({
      level: 50,
      msg: "Keys file cannot be used; the keys from before stay valid until it can",
    });
    expect(await file.check(key, PEER)).toBeDefined();
  });

  it.each([
    ["{}", "must hold a JSON array"],
    ["[1]", "entry 1 must be an object"],
    [JSON.stringify([entry("", hashRandomKey("k"), "a", "read")]), "entry 1: name must be a text"],
    [JSON.stringify([entry("n", hashRandomKey("k"), "", "read")]), "entry 1: namespace must be 1 to 128 characters"],
    [JSON.stringify([entry("n", hashRandomKey("k"), "a", "root")]), "entry 1: scope must be one of read, write, admin"],
    [JSON.stringify([entry("n", "k", "a", "read")]), "entry 1: hash must be sha256:<hex> or scrypt:"],
    ...["", 7, null, ["ada"]].map((owner) => [withOwner(owner), "entry 1: owner must be a text of 1 to 128 bytes"]),
    [withOwner("a".repeat(129)), "entry 1: owner is 129 bytes; at most 128 are allowed"],
    [withOwner("a\nb"), "entry 1: owner must not contain control characters"],
    [withOwner("ada", "admin"), "entry 1: owner must be absent with the scope admin"],
    ["nonsense", "cannot be read"],
  ])("that is %s is refused with one clear line", (text: string, message: string) => {
    writeFileSync(path, text);
    expect(() => openFile()).toThrow(message);
  });

  it("that is missing is refused with one clear line", () => {
    expect(() => openFile()).toThrow(/^Keys file .* cannot be read: ENOENT/);
  });
});

describe("slow comparisons", () => {
  it("are not delayed for an address without wrong keys by the wrong keys of another one", async () => {
    const checks = new SlowChecks();
    const done: string[] = [];
    const guess = (name: string, isRight: boolean) => async () => {
      done.push(name);
      return isRight;
    };
    const guesses = Promise.allSettled(
      Array.from({ length: 100 }, (_, i) => checks.run("198.51.100.7", guess(`guess ${i}`, false))),
    );
    const right = checks.run("192.0.2.1", guess("right", true));
    expect(await right).toBe(true);
    expect((await guesses).filter(({ status }) => status === "fulfilled")).toHaveLength(16);
    expect(done.indexOf("right")).toBeLessThanOrEqual(2);
  });

  it("for an address without wrong keys do not wait for one that runs for an address with some", async () => {
    const checks = new SlowChecks();
    await checks.run("198.51.100.7", async () => false);
    let finish: (isRight: boolean) => void = () => undefined;
    const guess = checks.run("198.51.100.7", () => new Promise((resolve) => (finish = resolve)));
    expect(await checks.run("192.0.2.1", async () => true)).toBe(true);
    finish(false);
    expect(await guess).toBe(false);
  });

  it("for addresses with wrong keys run one at a time, however many addresses there are", async () => {
    const checks = new SlowChecks();
    const peers = Array.from({ length: 10 }, (_, i) => `198.51.100.${i}`);
    for (const peer of peers) await checks.run(peer, async () => false);
    let running = 0;
    let most = 0;
    const guess = async () => {
      running += 1;
      most = Math.max(most, running);
      await Promise.resolve();
      running -= 1;
      return false;
    };
    await Promise.all(peers.map((peer) => checks.run(peer, guess)));
    expect(most).toBe(1);
  });

  it("neither wait for earlier ones of many addresses nor are refused because of them", async () => {
    const checks = new SlowChecks();
    const done: string[] = [];
    const guess = (name: string, isRight: boolean) => async () => {
      done.push(name);
      return isRight;
    };
    const guesses = Promise.allSettled(
      Array.from({ length: 100 }, (_, i) => checks.run(`198.51.100.${i}`, guess(`guess ${i}`, false))),
    );
    expect(await checks.run("192.0.2.1", guess("right", true))).toBe(true);
    await guesses;
    expect(done.indexOf("right")).toBeLessThanOrEqual(2);
  });

  it("make room for an address without wrong keys by refusing one with many", async () => {
    const checks = new SlowChecks();
    let finish: (isRight: boolean) => void = () => undefined;
    const comparison = new Promise<boolean>((resolve) => {
      finish = resolve;
    });
    const first = checks.run("192.0.2.1", () => comparison);
    const guesses = Promise.allSettled(
      Array.from({ length: 64 }, (_, i) => checks.run(`198.51.100.${i % 8}`, async () => false)),
    );
    const right = checks.run("192.0.2.2", async () => true);
    finish(true);
    expect(await Promise.all([first, right])).toEqual([true, true]);
    expect((await guesses).filter(({ status }) => status === "rejected")).toHaveLength(1);
  });

  it("are granted to an exhausted address again, one for each second that has passed", async () => {
    let nowMs = 0;
    const checks = new SlowChecks(() => nowMs);
    const wrong = () => checks.run("192.0.2.1", async () => false);
    for (let i = 0; i < 16; i++) expect(await wrong()).toBe(false);
    await expect(wrong()).rejects.toMatchObject({ code: Code.ResourceExhausted });
    nowMs += 1000;
    expect(await wrong()).toBe(false);
    await expect(wrong()).rejects.toMatchObject({ code: Code.ResourceExhausted });
  });

  it("count the addresses of one IPv6 network together", async () => {
    const checks = new SlowChecks();
    for (let i = 0; i < 16; i++) await checks.run(`2001:db8:1:2::${i}`, async () => false);
    await expect(checks.run("2001:db8:1:2:3:4:5:6", async () => true)).rejects.toMatchObject({
      code: Code.ResourceExhausted,
    });
    expect(await checks.run("2001:db8:1:3::1", async () => true)).toBe(true);
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
  const authenticator = new BearerAuthenticator({
    keys: [{ check: () => Promise.resolve(undefined), reload: () => {}, close: () => {} }],
  });

  it.each([undefined, "", "Basic YTpi", "Bearer", "Bearer a b"])("%j holds no key", async (header) => {
    await expect(authenticator.authenticate(factsWith(header))).rejects.toMatchObject({ code: Code.Unauthenticated });
  });

  it("with an unknown key does not repeat it", async () => {
    const failure = authenticator.authenticate(factsWith("Bearer secret"));
    await expect(failure).rejects.toMatchObject({
      code: Code.Unauthenticated,
      message: "The key is not known, or no longer valid",
    });
  });
});

function factsWith(authorization: string | undefined): RequestFacts {
  return { requestId: "r", header: () => authorization, peer: () => PEER };
}

function entry(name: string, hash: string, namespace: string, scope: string): object {
  return { name, hash, namespace, scope };
}

/** The text of a file with one entry. */
function withOwner(owner: unknown, scope = "write"): string {
  return JSON.stringify([{ ...entry("n", hashRandomKey("k"), "a", scope), owner }]);
}

function write(entries: object[]): void {
  writeFileSync(path, JSON.stringify(entries));
}

function openFile(): KeyFile {
  const file = new KeyFile(path, logger.pino);
  open.push(file);
  return file;
}
