import { readFileSync } from "node:fs";
import { Mutex } from "async-mutex";
import { DomainError } from "../domain/errors.js";
import type { CredentialChecker } from "./auth.js";
import { watchFile } from "./file-watch.js";
import type { Principal, Scope } from "./front-call.js";
import { type KeyHash, matchesHash, parseKeyHash, sha256 } from "./key-hash.js";
import type { Logger } from "./logging.js";

interface KeyEntry {
  readonly principal: Principal;
  readonly hash: KeyHash;
}

const SCOPES: readonly Scope[] = ["read", "write", "admin"];
/** Outcomes of slow comparisons that are remembered, and comparisons that may wait. */
const REMEMBERED = 10_000;
const WAITING = 64;

/** The keys of a file, read again whenever it changes. A file that cannot be used is logged, and the keys from before stay. */
export class KeyFile implements CredentialChecker {
  readonly #path: string;
  readonly #logger: Logger;
  readonly #stopWatching: () => void;
  readonly #slow = new Mutex();
  #entries: readonly KeyEntry[];
  /** Outcomes of scrypt by the key's SHA-256: a call must not cost 50 ms, nor a wrong key cost it twice. */
  #remembered = new Map<string, Principal | undefined>();
  #waiting = 0;

  /** Throws an Error with one clear line when the file cannot be used. */
  constructor(path: string, logger: Logger) {
    this.#path = path;
    this.#logger = logger;
    this.#entries = readKeyFile(path);
    this.#stopWatching = watchFile(path, () => this.#reload());
  }

  async check(credential: string): Promise<Principal | undefined> {
    const digest = sha256(credential);
    const fast = await findEntry(this.#entries, "sha256", credential, digest);
    if (fast !== undefined || !this.#entries.some(({ hash }) => hash.kind === "scrypt")) return fast?.principal;
    return this.#checkSlowly(credential, digest);
  }

  close(): void {
    this.#stopWatching();
  }

  async #checkSlowly(credential: string, digest: Buffer): Promise<Principal | undefined> {
    const id = digest.toString("base64");
    if (this.#remembered.has(id)) return this.#remembered.get(id);
    if (this.#waiting >= WAITING)
      throw new DomainError("resource_exhausted", "Too many keys are being checked; try again later");
    this.#waiting += 1;
    try {
      return await this.#slow.runExclusive(async () => {
        const remembered = this.#remembered;
        const entry = await findEntry(this.#entries, "scrypt", credential, digest);
        if (remembered.size >= REMEMBERED) remembered.clear();
        remembered.set(id, entry?.principal);
        return entry?.principal;
      });
    } finally {
      this.#waiting -= 1;
    }
  }

  #reload(): void {
    try {
      this.#entries = readKeyFile(this.#path);
      this.#remembered = new Map();
      this.#logger.info({ keys: this.#entries.length }, "Keys file read again");
    } catch (err) {
      this.#logger.error({ err }, "Keys file cannot be used; the keys from before stay valid");
    }
  }
}

/** Compares with every entry of the kind, also after a match, so that time tells nothing. */
async function findEntry(
  entries: readonly KeyEntry[],
  kind: KeyHash["kind"],
  key: string,
  digest: Buffer,
): Promise<KeyEntry | undefined> {
  let found: KeyEntry | undefined;
  for (const entry of entries) {
    if (entry.hash.kind === kind && (await matchesHash(entry.hash, key, digest))) found ??= entry;
  }
  return found;
}

/** Reads and checks a keys file: a JSON array of `{name, hash, namespace, scope}`. */
export function readKeyFile(path: string): readonly KeyEntry[] {
  const entries = parseJson(path);
  if (!Array.isArray(entries)) throw new Error(`Keys file ${path} must hold a JSON array`);
  return entries.map((entry, i) => parseEntry(entry, `Keys file ${path}, entry ${i + 1}`));
}

function parseJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (cause) {
    throw new Error(`Keys file ${path} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}

function parseEntry(value: unknown, where: string): KeyEntry {
  if (typeof value !== "object" || value === null) throw new Error(`${where} must be an object`);
  const { name, hash: text, namespace, scope } = value as Record<string, unknown>;
  if (typeof name !== "string" || name === "") throw new Error(`${where}: name must be a text`);
  if (typeof namespace !== "string" || !isNamespace(namespace))
    throw new Error(`${where}: namespace must be 1 to 128 characters`);
  if (!isScope(scope)) throw new Error(`${where}: scope must be one of ${SCOPES.join(", ")}`);
  const hash = typeof text === "string" ? parseKeyHash(text) : undefined;
  if (hash === undefined) throw new Error(`${where}: hash must be sha256:<hex> or scrypt:<N>:<r>:<p>:<salt>:<hash>`);
  return { principal: { name, namespace, scope }, hash };
}

export function isScope(value: unknown): value is Scope {
  return (SCOPES as readonly unknown[]).includes(value);
}

export function isNamespace(text: string): boolean {
  return /^[^\p{Cc}]{1,128}$/u.test(text);
}
