import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, rename, writeFile } from "node:fs/promises";
import { createInterface } from "node:readline/promises";
import { readKeyFile } from "../server/auth/key-file.js";
import { hashChosenKey, hashRandomKey, newKey } from "../server/auth/key-hash.js";
import type { Scope } from "../server/front-call.js";

export interface NewKey {
  readonly name: string;
  readonly namespace: string;
  readonly scope: Scope;
}

/** Makes a key, adds its hash to the file, and prints the key: it is written nowhere else. */
export async function addKey(path: string, { name, namespace, scope }: NewKey): Promise<void> {
  const entries = existsSync(path) ? (JSON.parse(await readFile(path, "utf8")) as object[]) : [];
  if (existsSync(path)) readKeyFile(path);
  if (entries.some((entry) => (entry as NewKey).name === name))
    throw new Error(`Keys file ${path} has a key named ${name} already`);
  const key = newKey();
  const all = [...entries, { name, hash: hashRandomKey(key), namespace, scope }];
  // Moved into place: a server that reads the file meanwhile sees the old one or the new one.
  const draft = `${path}.${randomUUID()}`;
  await writeFile(draft, `${JSON.stringify(all, null, 2)}\n`, { mode: 0o600, flag: "wx" });
  await rename(draft, path);
  process.stdout.write(`${key}\n`);
}

/** Prints the slow hash of a key of one's own, read from standard input so that no shell remembers it. */
export async function hashKey(): Promise<void> {
  const lines = createInterface({ input: process.stdin, terminal: false });
  const { value } = await lines[Symbol.asyncIterator]().next();
  lines.close();
  if (typeof value !== "string" || value === "") throw new Error("Give the key on standard input");
  if (/\s/.test(value)) throw new Error("A key must not hold spaces");
  process.stdout.write(`${await hashChosenKey(value)}\n`);
}
