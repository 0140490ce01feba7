import { ADAPTERS } from "./adapters.js";
import { AI_SDK, recogniseNamed } from "./ai-sdk.js";
import { ANTHROPIC } from "./anthropic.js";
import { COMMON, type Recognise } from "./common.js";
import { type Fields, fieldsOf, objectAt, outputOf, textAt } from "./fields.js";
import { callsOfChat, OPENAI } from "./openai.js";
import { OPENCODE } from "./opencode.js";
import type { JsonObject, Message, Part } from "./part.js";
import type { PartView } from "./part-view.js";

/** How to read a part of each type, whichever format it comes from. */
const TABLE = new Map<string, Recognise>(
  [COMMON, OPENCODE, OPENAI, ANTHROPIC, AI_SDK, ADAPTERS].flatMap((table) => Object.entries(table)),
);

export const KNOWN_TYPES: readonly string[] = [...TABLE.keys()];

/** Returns what a part is. A part of an unknown type is shown with its text and data. */
export function recognise(part: Part): readonly PartView[] {
  const { attachment } = part;
  if (attachment === undefined) return recognised(part);
  return [...recognised(part).filter((view) => !stoodFor(view)), { kind: "attachment", attachment }];
}

/** Whether a view says nothing that the attachment beside it does not say better. */
function stoodFor(view: PartView): boolean {
  if (view.kind === "image") return view.source === undefined && !view.address;
  if (view.kind === "data") return !view.text && Object.keys(view.data ?? {}).every((name) => name === "$attachments");
  return view.kind === "file" || (view.kind === "text" && view.text === "");
}

function recognised(part: Part): readonly PartView[] {
  const fields = fieldsOf(part);
  const views = namedViews(fields);
  if (views !== undefined) return [views].flat();
  const { type, text, data } = fields;
  return [{ kind: "data", type, text: part.text && text, ...(Object.keys(data).length > 0 && { data }) }];
}

/** Returns undefined for an unknown type, and for data that its format does not have, such as objects for names. */
function namedViews(fields: Fields): ReturnType<Recognise> {
  try {
    return TABLE.get(fields.type)?.(fields) ?? recogniseNamed(fields);
  } catch {
    return undefined;
  }
}

const known = new WeakMap<Message, readonly PartView[]>();

/** Returns the views of all parts of a message; computed once. */
export function viewsOf(message: Message): readonly PartView[] {
  let views = known.get(message);
  if (views === undefined) {
    views = viewsOfParts(message.parts, message.info.metadata);
    known.set(message, views);
  }
  return views;
}

/** Returns the views of all parts of a message with this metadata. */
export function viewsOfParts(parts: readonly Part[], metadata: JsonObject = {}): readonly PartView[] {
  const views = [...shownParts(parts).flatMap(recognise), ...callsOfChat(metadata.tool_calls)];
  return mergeTexts(resultOfChat(parts, metadata, views));
}

/** Parts of these types hold all texts of a message, which adapters also keep in a part of type `text`, for search. */
const WHOLE_MESSAGES = ["claude_agent", "message"];

function shownParts(parts: readonly Part[]): readonly Part[] {
  const hasTexts = (part: Part) =>
    WHOLE_MESSAGES.includes(part.type) && recognise(part).some(({ kind }) => kind === "text");
  return parts.some(hasTexts) ? parts.filter(({ type, data }) => type !== "text" || data !== undefined) : parts;
}

/** In Chat Completions, and in LangChain, the message names the call, and its text is the result. */
function resultOfChat(parts: readonly Part[], metadata: JsonObject, views: readonly PartView[]): readonly PartView[] {
  const kept = parts.find(({ type }) => type === "langchain")?.data ?? {};
  const named = textAt(kept, "type") === "tool" ? objectAt(kept, "data") : metadata;
  const callId = textAt(named, "tool_call_id");
  if (callId === "") return views;
  const isError = textAt(named, "status") === "error";
  const name = textAt(named, "name");
  return views.map((view) =>
    view.kind === "text" ? { kind: "result", callId, name, isError, output: outputOf(view.text) } : view,
  );
}

/** Joins consecutive texts, which a reader sees as one. */
function mergeTexts(views: readonly PartView[]): readonly PartView[] {
  const merged: PartView[] = [];
  for (const view of views) {
    if (view.kind === "text" && view.text === "") continue;
    const last = merged.at(-1);
    if (view.kind === "text" && last?.kind === "text")
      merged[merged.length - 1] = { kind: "text", text: `${last.text}\n\n${view.text}` };
    else merged.push(view);
  }
  return merged;
}
