/** An answer to a user, as it came over the wire. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Headers that differ from request to request. */
const VARYING = ["date", "content-length", "x-request-id"];
/** Fields whose values differ from server to server. */
const VARYING_FIELDS = /time$|token$|^ticket$|^created_at$|^requestId$/i;

/** What another server must have answered as well: without times, tokens and lengths. */
export function comparable({ status, headers, text }: Answer): unknown {
  const kept = [...headers].filter(([name]) => !VARYING.includes(name)).sort();
  return { status, headers: kept, body: text === "" ? "" : withoutVarying(JSON.parse(text)) };
}

function withoutVarying(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutVarying);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).map(([name, field]) => [
    name,
    VARYING_FIELDS.test(name) ? Boolean(field) : withoutVarying(field),
  ]);
  return Object.fromEntries(fields);
}

/**
 * Throws if an answer tells anything of the other user, of which everything has `word` in it: as it is written, or in
 * what a token holds. `names`: what the request itself has named.
 */
export function checkSilent({ headers, text }: Answer, word: string, names: readonly string[]): void {
  let all = `${[...headers].flat().join("\n")}\n${text}`;
  for (const name of names) all = all.replaceAll(name, "").replaceAll(encodeURIComponent(name), "");
  const tokens = all.match(/[\w-]{16,}/g) ?? [];
  const decoded = tokens.map((token) => Buffer.from(token, "base64url").toString("latin1"));
  if ([all, ...decoded].some((one) => one.toLowerCase().includes(word))) {
    throw new Error(`An answer tells of the other user: ${all}`);
  }
}
