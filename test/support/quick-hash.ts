import { randomBytes, scryptSync } from "node:crypto";

/** Hashes a chosen key as `hashChosenKey` does, but at a small part of its cost, for tests with many keys. */
export function quickHash(key: string): string {
  const cost = { N: 2 ** 11, r: 8, p: 1 };
  const salt = randomBytes(16);
  const digest = scryptSync(key, salt, 32, cost);
  return ["scrypt", cost.N, cost.r, cost.p, salt.toString("base64url"), digest.toString("base64url")].join(":");
}
