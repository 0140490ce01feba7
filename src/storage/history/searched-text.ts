import type { Part } from "../../domain/chat-message.js";
import type { JsonObject, JsonValue } from "../../domain/json.js";
import type { SearchedField, SearchScope } from "../../domain/search.js";
import { joinTexts } from "../../domain/search-text.js";
import { toolsOf } from "../../parts/tools.js";

/** Of the arguments of one call, and of one output, only this many code units are searched. */
const MOST_TOOL_UNITS = 128 * 1024;

export interface SearchedContent {
  readonly parts: readonly Part[];
  readonly metadata?: JsonObject | undefined;
}

/** A text of a message that a search looks at. */
export interface SearchedPiece {
  readonly field: SearchedField;
  readonly text: string;
  /** Absent for a call that only the metadata of the message has. */
  readonly part?: { readonly index: number; readonly type: string } | undefined;
}

/**
 * What a search looks at in a message: the texts of its parts of type `text`, and, if it looks at all, after them the
 * names, arguments and outputs of the tools in it.
 */
export function searchedPieces({ parts, metadata }: SearchedContent, scope: SearchScope): readonly SearchedPiece[] {
  const pieces: SearchedPiece[] = [];
  for (const [index, { type, text }] of parts.entries()) {
    if (type === "text") pieces.push({ field: "text", text, part: { index, type } });
  }
  if (scope === "text") return pieces;
  for (const [index, part] of parts.entries()) {
    if (part.type === "text") continue;
    const of = { index, type: part.type };
    for (const { field, text } of toolPieces([part])) pieces.push({ field, text, part: of });
  }
  pieces.push(...toolPieces([], metadata));
  return pieces;
}

/** The searched text of a message, a line for each piece. */
export function searchedText(content: SearchedContent, scope: SearchScope = "text"): string {
  return joinTexts(searchedPieces(content, scope).map(({ text }) => text));
}

function* toolPieces(parts: readonly Part[], metadata?: JsonObject): Generator<SearchedPiece> {
  const { calls, results } = toolsOf(parts, metadata);
  for (const { name, input, output } of calls) {
    if (name !== "") yield { field: "tool_name", text: name };
    const given = textsOf(input);
    if (given !== "") yield { field: "tool_input", text: given };
    yield* outputPiece(output);
  }
  for (const { output } of results) yield* outputPiece(output);
}

function* outputPiece(
  output: { readonly text?: string; readonly json?: JsonValue } | undefined,
): Generator<SearchedPiece> {
  const text = output?.text?.slice(0, MOST_TOOL_UNITS) ?? textsOf(output?.json);
  if (text !== "") yield { field: "tool_output", text };
}

/** The names, texts and numbers in a value, in order, a line each. */
function textsOf(value: JsonValue | undefined): string {
  const texts: string[] = [];
  let units = 0;
  const stack: (JsonValue | undefined)[] = [value];
  while (stack.length > 0 && units < MOST_TOOL_UNITS) {
    const next = stack.pop();
    if (typeof next === "string" || typeof next === "number") {
      const text = String(next).slice(0, MOST_TOOL_UNITS - units);
      texts.push(text);
      units += text.length + 1;
    } else if (Array.isArray(next)) {
      for (let i = next.length - 1; i >= 0; i--) stack.push(next[i]);
    } else if (typeof next === "object" && next !== null) {
      for (const [name, child] of Object.entries(next).reverse()) stack.push(child, name);
    }
  }
  return texts.join("\n");
}
