/** Crockford's Base32, whose order is that of ASCII. */
const DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** A new ULID: 10 digits of the time in ms and 16 random ones. The package `ulid` would be 2 % of the client. */
export function ulid(): string {
  let time = "";
  for (let rest = Date.now(); time.length < 10; rest = Math.floor(rest / 32)) time = DIGITS.charAt(rest % 32) + time;
  const random = crypto.getRandomValues(new Uint8Array(16));
  return time + Array.from(random, (byte) => DIGITS.charAt(byte % 32)).join("");
}
