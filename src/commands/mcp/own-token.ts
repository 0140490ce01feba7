import { type DomainError, invalidArgument } from "../../domain/errors.js";

/** Sets the page tokens of the tools apart from those of the service. */
const MARK = "~";

export function encodeToken(values: readonly (string | number)[]): string {
  return MARK + Buffer.from(JSON.stringify(values)).toString("base64url");
}

export function isOwnToken(token: string): boolean {
  return token.startsWith(MARK);
}

/** The values of a token; numbers are counts. `invalid_argument`: it holds others than these types. */
export function decodeToken(token: string, types: readonly ("string" | "number")[]): readonly (string | number)[] {
  let values: unknown;
  try {
    values = JSON.parse(Buffer.from(token.slice(MARK.length), "base64url").toString());
  } catch {
    throw refusedToken();
  }
  if (!Array.isArray(values) || values.length !== types.length) throw refusedToken();
  const fits = (value: unknown, type: string | undefined) =>
    type === "number" ? Number.isSafeInteger(value) && (value as number) >= 0 : typeof value === type;
  if (!values.every((value, i) => fits(value, types[i]))) throw refusedToken();
  return values;
}

export function refusedToken(): DomainError {
  return invalidArgument("pageToken is no nextPageToken of this tool");
}
