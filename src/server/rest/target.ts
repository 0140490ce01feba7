import { FieldError, invalidArgument } from "../../api/api-error.js";

/** The parts of a request target, undecoded. */
export interface Target {
  readonly path: string;
  readonly query: string;
}

/** Splits a request target in origin form or absolute form. Throws a problem for characters that no URL may contain. */
export function parseTarget(url: string): Target {
  if (!/^[\x21-\x7e]+$/.test(url)) throw invalidArgument("The URL has characters that must be percent-encoded");
  const target = url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?#]*/i, "");
  const at = target.indexOf("?");
  return at < 0 ? { path: target, query: "" } : { path: target.slice(0, at), query: target.slice(at + 1) };
}

/** Percent-decodes once. */
export function decodePercent(text: string, what: string): string {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    throw new FieldError(what, `${JSON.stringify(text)} is not percent-encoded UTF-8`);
  }
}

/** Decodes the text of several segments. An encoded slash stays encoded, so that it differs from a real one. */
export function decodeSegments(text: string, what: string): string {
  return text
    .split(/(%2f)/i)
    .map((piece, index) => (index % 2 === 1 ? piece : decodePercent(piece, what)))
    .join("");
}

/** The parameters of a query in order; `+` is a space, as browsers write it. */
export function parseQuery(query: string): [name: string, value: string][] {
  const parameters: [string, string][] = [];
  for (const pair of query.split("&")) {
    if (pair === "") continue;
    const at = pair.indexOf("=");
    const name = decodeQueryText(at < 0 ? pair : pair.slice(0, at), "query");
    parameters.push([name, at < 0 ? "" : decodeQueryText(pair.slice(at + 1), name)]);
  }
  return parameters;
}

function decodeQueryText(text: string, what: string): string {
  return decodePercent(text.replaceAll("+", " "), what);
}
