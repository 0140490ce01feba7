import type { JsonValue } from "@bufbuild/protobuf";

/** What the JSON of Python may hold and JSON.parse refuses, beside texts. */
const TEXT_OR_NUMBER = /"(?:[^"\\]+|\\.)*"|-?Infinity|NaN/gs;

/** The value of a JSON text. Numbers that only Python's `json` has become null. Undefined: the text is no JSON. */
export function parseJson(text: string): JsonValue | undefined {
  return parse(text) ?? parse(text.replace(TEXT_OR_NUMBER, (token) => (token.startsWith('"') ? token : "null")));
}

function parse(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
