import { ANTHROPIC } from "./anthropic.js";
import { COMMON, type Recognise } from "./common.js";
import { imageOfBlock, isObject, objectAt, outputOf, parsed, textAt, valueAt } from "./fields.js";
import type { Json, JsonObject } from "./part.js";
import type { CallView, PartView } from "./part-view.js";

const BLOCKS = new Map(Object.entries({ ...COMMON, ...ANTHROPIC }));

/** Parts in which adapters store a whole message of their framework. */
export const ADAPTERS: Readonly<Record<string, Recognise>> = {
  claude_agent: ({ text }) => entryOf(parsed(text)),
  langchain: ({ data }) => {
    const kept = objectAt(data, "data");
    const images = listAt(kept, "content").map(imageOfBlock);
    return [
      ...images.filter((image) => image !== undefined),
      ...listAt(kept, "tool_calls").map(callOf),
      ...listAt(kept, "invalid_tool_calls").map(invalidCallOf),
    ];
  },
};

/** A line of a transcript of the Claude Agent SDK: a message of Anthropic's API, or a note of the SDK's own. */
function entryOf(entry: Json | undefined): readonly PartView[] | undefined {
  if (!isObject(entry)) return undefined;
  const { content } = objectAt(entry, "message");
  if (typeof content === "string") return [{ kind: "text", text: content }];
  if (Array.isArray(content)) return content.filter(isObject).flatMap(blockOf);
  const label = textAt(entry, "type") || "entry";
  return [{ kind: "note", label, text: textAt(entry, "summary", "content", "subtype"), data: entry }];
}

function blockOf(block: JsonObject): readonly PartView[] {
  const type = textAt(block, "type");
  const views = BLOCKS.get(type)?.({ type, text: textAt(block, "text"), data: block });
  return views === undefined ? [{ kind: "data", type, text: "", data: block }] : [views].flat();
}

function listAt(data: JsonObject, name: string): readonly JsonObject[] {
  const value = data[name];
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function callOf(call: JsonObject): CallView {
  return {
    kind: "call",
    callId: textAt(call, "id"),
    name: textAt(call, "name") || "tool",
    args: parsed(valueAt(call, "args")),
  };
}

/** A call that was never made, because its arguments were not JSON. */
function invalidCallOf(call: JsonObject): CallView {
  return {
    ...callOf(call),
    status: "failed",
    output: outputOf(valueAt(call, "error") ?? "The arguments are not valid"),
  };
}
