import type { JsonObject } from "../../../domain/json.js";
import { isObject } from "../shape.js";
import { listAt, objectAt, rest, textAt } from "./fields.js";
import { injectedTag } from "./injected.js";
import type { ForeignMessage, ForeignPart } from "./reader.js";

type Item = Record<string, unknown>;
type Said = Pick<ForeignMessage, "role" | "parts">;

const ROLES: ReadonlyMap<string, string> = new Map([["developer", "system"]]);

/** The message of an item of the Responses API, as Codex writes it; undefined for what is no part of a conversation. */
export function itemMessage(item: Item): Said | undefined {
  const type = textAt(item, "type");
  // Snapshots of the repository, and states of the first versions.
  if (type === "" || type === "ghost_snapshot") return undefined;
  if (type === "message") return messageOf(item);
  if (type === "reasoning") return { role: "assistant", parts: [reasoningOf(item)] };
  if (type.endsWith("_output")) return { role: "tool", parts: [outputOf(type, item)] };
  return { role: "assistant", parts: [{ type, data: rest(item, "type") }] };
}

function messageOf(item: Item): Said | undefined {
  const parts = listAt(item, "content").flatMap(partOf);
  if (parts.length === 0) return undefined;
  const role = textAt(item, "role") || "assistant";
  const isInjected = role === "user" && parts.every(({ text = "" }) => injectedTag(text) !== undefined);
  return { role: isInjected ? "system" : (ROLES.get(role) ?? role), parts };
}

function partOf(block: unknown): ForeignPart[] {
  if (typeof block === "string") return [{ type: "text", text: block }];
  if (!isObject(block)) return [];
  const type = textAt(block, "type");
  const isText = type === "input_text" || type === "output_text" || type === "text";
  if (!isText) return [{ type: type || "block", text: textAt(block, "text"), data: rest(block, "type", "text") }];
  const data = rest(block, "type", "text");
  return [{ type: "text", text: textAt(block, "text"), ...(data && { data }) }];
}

/** Thoughts, as far as they are not encrypted. */
function reasoningOf(item: Item): ForeignPart {
  const texts = [...listAt(item, "summary"), ...listAt(item, "content")].map((one) => textAt(one, "text"));
  const text = texts.filter((one) => one !== "").join("\n\n");
  return {
    type: text === "" ? "redacted_thinking" : "reasoning",
    text,
    data: rest(item, "type", "summary", "content"),
  };
}

/** The result of a call. Results of shells are JSON with the output and the exit code in it. */
function outputOf(type: string, item: Item): ForeignPart {
  const { output } = item;
  const data = rest(item, "type", "output") ?? {};
  if (typeof output === "string") {
    const shell = shellOf(output);
    if (shell === undefined) return { type, text: output, data };
    const { exit_code: code } = objectAt(shell, "metadata");
    const failed = typeof code === "number" && code !== 0;
    return {
      type,
      text: textAt(shell, "output"),
      data: { ...data, ...rest(shell, "output"), ...(failed && { is_error: true }) },
    };
  }
  if (isObject(output) && typeof output.content === "string") {
    const failed = output.success === false;
    return { type, text: output.content, data: { ...data, ...(failed && { is_error: true }) } };
  }
  return { type, data: { ...data, output: (output ?? null) as JsonObject } };
}

function shellOf(text: string): Item | undefined {
  if (!text.startsWith('{"output"')) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) && typeof value.output === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}
