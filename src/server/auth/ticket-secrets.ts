import { randomBytes } from "node:crypto";

/** 256 random bits, as many as the signature has. */
const SECRET_BYTES = 32;

/** At least 256 bits in base64, of visible characters of ASCII. */
const SECRET = /^[!-~]{43,1024}$/;

/** A new secret for signing tickets. */
export function newTicketSecret(): string {
  return randomBytes(SECRET_BYTES).toString("base64url");
}

/**
 * The secrets of a file: one, or two during a change, each on a line. Throws an Error that begins with `where` and
 * never shows a secret.
 */
export function readTicketSecrets(content: string, where: string): readonly string[] {
  const secrets = content
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  if (secrets.length < 1 || secrets.length > 2)
    throw new Error(`${where} must hold one secret, or two during a change, each on a line; it has ${secrets.length}`);
  if (!secrets.every((secret) => SECRET.test(secret)))
    throw new Error(`${where}: a secret must have 43 to 1024 visible characters of ASCII`);
  return secrets;
}
