import { setMaxListeners } from "node:events";
import { readFileSync } from "node:fs";
import { isScope, SCOPES, type Scope } from "../../api/api-method.js";
import { checkOwner, type OwnerAccess } from "../../domain/access.js";
import type { Logger } from "../logging.js";
import { type WatchedFiles, watchFiles } from "../watched-files.js";
import type { CredentialChecker } from "./authenticator.js";
import { type KeyHash, matchesHash, parseKeyHash, sha256 } from "./key-hash.js";
import type { Principal } from "./principal.js";
import { SlowChecks } from "./slow-checks.js";

interface KeyEntry {
  readonly principal: Principal;
  readonly hash: KeyHash;
  /** The entry as text, which stays the same when a change of the file does not affect the entry. */
  readonly id: string;
  readonly revoke: () => void;
}

/** How many wrong keys are remembered, so that none costs a slow comparison twice. */
const REMEMBERED_WRONG = 10_000;

/** The keys of a file, read again whenever it changes. While it cannot be used, the previous keys stay. */
export class KeyFile implements CredentialChecker {
  readonly #path: string;
  readonly #logger: Logger;
  readonly #watched: WatchedFiles;
  readonly #slowChecks = new SlowChecks();
  #entries: readonly KeyEntry[];
  /**
   * The entries whose keys slow comparisons have verified, by the key's SHA-256. They are remembered because a slow
   * comparison takes about 50 ms, which is too much for every call. Each entry has at most one key.
   */
  readonly #verified = new Map<string, KeyEntry>();
  readonly #wrong = new Set<string>();
  /** Comparisons that are running or waiting, by the key's SHA-256. */
  readonly #checking = new Map<string, Promise<KeyEntry | undefined>>();

  /** Throws an Error with a one-line message when the file cannot be used. */
  constructor(path: string, logger: Logger) {
    this.#path = path;
    this.#logger = logger;
    const failure = "Keys file cannot be used; the keys from before stay valid until it can";
    this.#watched = watchFiles([path], { read: () => this.#replace(), failure, logger });
    try {
      this.#entries = readKeyFile(path);
    } catch (error) {
      this.#watched.close();
      throw error;
    }
  }

  async check(credential: string, peer: string): Promise<Principal | undefined> {
    const digest = sha256(credential);
    const fast = await findFastEntry(this.#entries, credential, digest);
    if (fast !== undefined) return fast.principal;
    const id = digest.toString("base64");
    const verified = this.#verified.get(id);
    if (verified !== undefined || this.#wrong.has(id) || this.#unverified().length === 0) return verified?.principal;
    return (await this.#checkSlowly(id, credential, digest, peer))?.principal;
  }

  reload(): void {
    this.#watched.reload();
  }

  close(): void {
    this.#watched.close();
  }

  /** Calls and streams of entries that were removed or changed are ended. */
  #replace(): void {
    // Of equal entries the first one counts, as it does when a key is checked.
    const before = new Map(this.#entries.toReversed().map((entry) => [entry.id, entry]));
    const entries = readKeyFile(this.#path).map((entry) => before.get(entry.id) ?? entry);
    const kept = new Set(entries);
    const removed = this.#entries.filter((entry) => !kept.has(entry));
    this.#entries = entries;
    this.#wrong.clear();
    for (const [id, entry] of this.#verified) if (!kept.has(entry)) this.#verified.delete(id);
    for (const entry of removed) entry.revoke();
    this.#logger.info({ keys: entries.length }, "Keys file read again");
  }

  /** Calls that arrive with the same key meanwhile share one comparison. */
  #checkSlowly(id: string, credential: string, digest: Buffer, peer: string): Promise<KeyEntry | undefined> {
    const running = this.#checking.get(id);
    if (running !== undefined) return running;
    const check = this.#compare(id, credential, digest, peer).finally(() => this.#checking.delete(id));
    this.#checking.set(id, check);
    return check;
  }

  async #compare(id: string, credential: string, digest: Buffer, peer: string): Promise<KeyEntry | undefined> {
    let found: KeyEntry | undefined;
    let compared: readonly KeyEntry[] = [];
    await this.#slowChecks.run(peer, async () => {
      compared = this.#entries;
      found = await findSlowEntry(this.#unverified(), credential, digest);
      return found !== undefined;
    });
    // The file was read again meanwhile, so the entry that was found may have been removed, or one may have been added.
    if (compared !== this.#entries) return this.#compare(id, credential, digest, peer);
    if (found !== undefined) this.#verified.set(id, found);
    else this.#rememberWrong(id);
    return found;
  }

  /**
   * The entries with slow hashes for which no right key has been sent yet. An entry has only one key, so verified
   * entries need no comparison with any other key.
   */
  #unverified(): readonly KeyEntry[] {
    const verified = new Set(this.#verified.values());
    return this.#entries.filter((entry) => entry.hash.kind === "scrypt" && !verified.has(entry));
  }

  #rememberWrong(id: string): void {
    if (this.#wrong.size >= REMEMBERED_WRONG) this.#wrong.delete(this.#wrong.values().next().value as string);
    this.#wrong.add(id);
  }
}

/** Compares with every entry, even after a match, so that timing reveals nothing. */
async function findFastEntry(entries: readonly KeyEntry[], key: string, digest: Buffer): Promise<KeyEntry | undefined> {
  const compared = entries.filter(({ hash }) => hash.kind === "sha256");
  const matches = await Promise.all(compared.map(({ hash }) => matchesHash(hash, key, digest)));
  return compared[matches.indexOf(true)];
}

/**
 * Compares one entry after another and stops at a match, so that a check takes no more than one thread. Only a caller
 * with a right key can learn from the time which entry has it.
 */
async function findSlowEntry(entries: readonly KeyEntry[], key: string, digest: Buffer): Promise<KeyEntry | undefined> {
  for (const entry of entries) if (await matchesHash(entry.hash, key, digest)) return entry;
  return undefined;
}

/** Reads and checks a keys file: a JSON array of `{name, hash, namespace, scope, owner?}`. */
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

/** Checks an entry of a keys file; throws an Error that begins with `where`. */
export function parseEntry(value: unknown, where: string): KeyEntry {
  if (typeof value !== "object" || value === null) throw new Error(`${where} must be an object`);
  const { name, hash: text, namespace, scope, owner } = value as Record<string, unknown>;
  if (typeof name !== "string" || name === "") throw new Error(`${where}: name must be a text`);
  if (typeof namespace !== "string" || !isNamespace(namespace))
    throw new Error(`${where}: namespace must be 1 to 128 characters without control characters`);
  if (!isScope(scope)) throw new Error(`${where}: scope must be one of ${SCOPES.join(", ")}`);
  const access = parseOwner(owner, scope, where);
  const hash = typeof text === "string" ? parseKeyHash(text) : undefined;
  if (hash === undefined) throw new Error(`${where}: hash must be sha256:<hex> or scrypt:<N>:<r>:<p>:<salt>:<hash>`);
  const revoked = new AbortController();
  // Every stream of the key adds a listener.
  setMaxListeners(0, revoked.signal);
  const principal = { name, namespace, scope, access, revoked: revoked.signal };
  return { principal, hash, id: JSON.stringify([name, text, namespace, scope, owner]), revoke: () => revoked.abort() };
}

/** The access of a key that is bound to an owner; undefined for a key without one. */
function parseOwner(owner: unknown, scope: Scope, where: string): OwnerAccess | undefined {
  if (owner === undefined) return undefined;
  if (typeof owner !== "string" || owner === "")
    throw new Error(`${where}: owner must be a text of 1 to 128 bytes, or absent`);
  checkOwner(`${where}: owner`, owner);
  if (scope === "admin") throw new Error(`${where}: owner must be absent with the scope admin, which is never bound`);
  return { owner };
}

/**
 * Whether a text may name a namespace. Lone surrogates are refused, because stores turn all of them into the same
 * character, so that namespaces which differ only in them would be one.
 */
export function isNamespace(text: string): boolean {
  return /^[^\p{Cc}\p{Cs}]{1,128}$/u.test(text);
}
