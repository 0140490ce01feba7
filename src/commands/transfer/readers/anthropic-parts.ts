import { isObject } from "../shape.js";
import { firstText, rest, textAt } from "./fields.js";
import type { ForeignPart } from "./reader.js";

/** The parts of a content of Anthropic's Messages API: a text, or a list of blocks. */
export function anthropicParts(content: unknown): ForeignPart[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return Array.isArray(content) ? content.flatMap(partOf) : [];
}

function partOf(block: unknown): ForeignPart[] {
  if (typeof block === "string") return [{ type: "text", text: block }];
  if (!isObject(block)) return [];
  const type = textAt(block, "type") || "block";
  if (type === "thinking") {
    return [{ type, text: firstText(block, "thinking", "text"), data: rest(block, "type", "thinking", "text") }];
  }
  if (type === "tool_result") return [resultOf(type, block)];
  return [{ type, text: textAt(block, "text"), data: rest(block, "type", "text") }];
}

/**
 * Texts of a result become its text, so that they can be read and searched. Other blocks, such as pictures, stay data.
 */
function resultOf(type: string, block: Record<string, unknown>): ForeignPart {
  const { content } = block;
  if (typeof content === "string") return { type, text: content, data: rest(block, "type", "content") };
  const texts = Array.isArray(content) ? content.map((one) => (textAt(one, "type") === "text" ? one : null)) : [null];
  if (texts.some((one) => one === null)) return { type, data: rest(block, "type") };
  const text = texts.map((one) => textAt(one, "text")).join("\n");
  return { type, text, data: rest(block, "type", "content") };
}
