import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline/promises";
import type { Scope } from "../api/api-method.js";
import { TICKET_PREFIX } from "../server/auth/authenticator.js";
import { parseEntry, readKeyFile } from "../server/auth/key-file.js";
import { hashChosenKey, hashRandomKey, newKey } from "../server/auth/key-hash.js";
import { changeFile } from "./change-file.js";
import { print } from "./print.js";
import { printableInLine } from "./printable.js";

export interface NewKey {
  readonly name: string;
  readonly namespace: string;
  readonly scope: Scope;
  /** The owner whose sessions alone the key opens; absent for the whole namespace. */
  readonly owner?: string | undefined;
}

/** Makes a key, adds its hash to the file, and prints the key, which is not stored anywhere. */
export async function addKey(path: string, { name, namespace, scope, owner }: NewKey): Promise<void> {
  const key = newKey();
  const added = { name, hash: hashRandomKey(key), namespace, scope, owner };
  // Files that hold such names are still read, because logs and lists show them as escapes.
  if (/\p{Cc}/u.test(name)) throw new Error("The new key: name must have no control characters");
  // A single entry that is not valid makes a server refuse the whole file.
  parseEntry(added, "The new key");
  await changeEntries(path, async () => {
    const entries = existsSync(path) ? await readEntries(path) : [];
    if (entries.some((entry) => entry.name === name))
      throw new Error(`Keys file ${path} already has a key named ${name}`);
    return [...entries, added];
  });
  print(key);
}

/** Prints what each key may do, but never its hash. */
export async function listKeys(path: string, { json }: { readonly json: boolean }): Promise<void> {
  for (const { name, namespace, scope, owner } of await readEntries(path)) {
    const columns = [name, scope, namespace, ...(owner === undefined ? [] : [`owner ${owner}`])];
    print(json ? JSON.stringify({ name, namespace, scope, owner }) : printableInLine(columns.join("  ")));
  }
}

/** Removes every key of that name from the file. */
export async function removeKey(path: string, name: string): Promise<void> {
  readKeyFile(path);
  await changeEntries(path, async () => {
    const entries = await readEntries(path);
    const kept = entries.filter((entry) => entry.name !== name);
    if (kept.length === entries.length) throw new Error(`Keys file ${path} has no key named ${name}`);
    return kept;
  });
}

type Entry = NewKey & { readonly hash: string };

async function readEntries(path: string): Promise<readonly Entry[]> {
  readKeyFile(path);
  return JSON.parse(await readFile(path, "utf8")) as readonly Entry[];
}

function changeEntries(path: string, change: () => Promise<readonly Entry[]>): Promise<void> {
  return changeFile(path, async () => `${JSON.stringify(await change(), null, 2)}\n`);
}

/** Prints the slow hash of a key that the user has chosen, read from standard input so that no shell remembers it. */
export async function hashKey(): Promise<void> {
  const lines = createInterface({ input: process.stdin, terminal: false });
  const { value } = await lines[Symbol.asyncIterator]().next();
  lines.close();
  if (typeof value !== "string" || value === "") throw new Error("Give the key on standard input");
  if (/\s/.test(value)) throw new Error("A key must not hold spaces");
  if (value.startsWith(TICKET_PREFIX)) throw new Error(`A key must not begin with ${TICKET_PREFIX}, as tickets do`);
  print(await hashChosenKey(value));
}
