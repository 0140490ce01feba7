import { createHash, randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";

/** The hash of a key as the keys file holds it: `sha256:<hex>` or `scrypt:<N>:<r>:<p>:<salt>:<hash>` (base64url). */
export type KeyHash =
  | { readonly kind: "sha256"; readonly digest: Buffer }
  | { readonly kind: "scrypt"; readonly cost: ScryptCost; readonly salt: Buffer; readonly digest: Buffer };

interface ScryptCost {
  readonly N: number;
  readonly r: number;
  readonly p: number;
}

const DEFAULT_COST: ScryptCost = { N: 2 ** 15, r: 8, p: 1 };
const MAX_MEMORY_BYTES = 128 * 1024 * 1024;
const KEY_BYTES = 32;

const scryptAsync = promisify<string, Buffer, number, ScryptCost & { maxmem: number }, Buffer>(scrypt);

/** A new key of 256 random bits: long enough that a fast hash protects it. */
export function newKey(): string {
  return `sp_${randomBytes(KEY_BYTES).toString("base64url")}`;
}

export function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** Hashes a key made by `newKey`. */
export function hashRandomKey(key: string): string {
  return `sha256:${sha256(key).toString("hex")}`;
}

/** Hashes a key that a person chose, in a way that makes guessing slow. */
export async function hashChosenKey(key: string): Promise<string> {
  const { N, r, p } = DEFAULT_COST;
  const salt = randomBytes(16);
  const digest = await deriveScrypt(key, salt, DEFAULT_COST, KEY_BYTES);
  return ["scrypt", N, r, p, salt.toString("base64url"), digest.toString("base64url")].join(":");
}

/** Undefined when the text is not a hash of either kind. */
export function parseKeyHash(text: string): KeyHash | undefined {
  const hex = /^sha256:([0-9a-f]{64})$/i.exec(text);
  if (hex !== null) return { kind: "sha256", digest: Buffer.from(hex[1]!, "hex") };
  const parts = /^scrypt:(\d{1,7}):(\d{1,2}):(\d{1,2}):([\w-]{8,}):([\w-]{22,})$/.exec(text);
  if (parts === null) return undefined;
  const cost = { N: Number(parts[1]), r: Number(parts[2]), p: Number(parts[3]) };
  if (!isUsable(cost)) return undefined;
  return {
    kind: "scrypt",
    cost,
    salt: Buffer.from(parts[4]!, "base64url"),
    digest: Buffer.from(parts[5]!, "base64url"),
  };
}

/** Compares in constant time. */
export async function matchesHash(hash: KeyHash, key: string, keySha256: Buffer): Promise<boolean> {
  if (hash.kind === "sha256") return timingSafeEqual(hash.digest, keySha256);
  const digest = await deriveScrypt(key, hash.salt, hash.cost, hash.digest.length);
  return timingSafeEqual(hash.digest, digest);
}

function deriveScrypt(key: string, salt: Buffer, cost: ScryptCost, bytes: number): Promise<Buffer> {
  return scryptAsync(key, salt, bytes, { ...cost, maxmem: MAX_MEMORY_BYTES });
}

/** Whether N is a power of two and the whole fits into the memory that scrypt gets. */
function isUsable({ N, r, p }: ScryptCost): boolean {
  return N > 1 && (N & (N - 1)) === 0 && r > 0 && p > 0 && 128 * N * r + 128 * r * p < MAX_MEMORY_BYTES;
}
