import type { JsonObject } from "../../../domain/json.js";
import { isObject } from "../shape.js";
import { fieldAt, listAt, objectAt, textAt, without } from "./fields.js";
import { forEachEntry } from "./for-each-entry.js";
import type { ForeignMessage, ForeignPart, ForeignSession, JsonReader, ReadContext } from "./reader.js";
import { isNewCall, usageFrom } from "./usage.js";

/** Sessions as `opencode export` writes them: one, or a list of them. All fields that have no other place are kept. */
export const opencode: JsonReader = {
  name: "OpenCode",
  isEntry: (value) => isObject(value) && isObject(value.info) && Array.isArray(value.messages),
  read: (entries, context) =>
    forEachEntry(entries, context, (value, place) => [readSession(value, `${place}, session`, context)]),
};

function readSession(value: unknown, place: string, context: ReadContext): ForeignSession {
  const info = fieldAt(value, "info");
  if (!isObject(info)) throw new Error("it has no info");
  const id = textAt(info, "id");
  const name = `${place} ${JSON.stringify(id)}`;
  const messages = listAt(value, "messages").flatMap((message, i) =>
    toMessage(message, `${name}, message ${i + 1}`, context),
  );
  const shown = shownOf(messages, objectAt(info, "revert"));
  const time = objectAt(info, "time");
  return {
    sessionId: id,
    parentId: textAt(info, "parentID"),
    title: textAt(info, "title"),
    metadata: { opencode: without(info as JsonObject, "id", "title", "parentID") },
    createTimeMicros: microsAt(time, "created"),
    updateTimeMicros: microsAt(time, "updated"),
    messages: shown,
    ...(shown !== messages && { undo: messages }),
  };
}

/** The messages before the one that was undone, and of that one the parts before the one that was undone. */
function shownOf(messages: readonly ForeignMessage[], revert: JsonObject): readonly ForeignMessage[] {
  const index = messages.findIndex(({ id }) => id !== "" && id === textAt(revert, "messageID"));
  const message = messages[index];
  if (message === undefined) return messages;
  const partId = textAt(revert, "partID");
  const count = partId === "" ? 0 : message.parts.findIndex(({ id }) => id === partId);
  const before = messages.slice(0, index);
  return count > 0 ? [...before, { ...message, parts: message.parts.slice(0, count) }] : before;
}

function toMessage(value: unknown, place: string, context: ReadContext): ForeignMessage[] {
  const { notes } = context;
  const info = fieldAt(value, "info");
  if (!isObject(info)) {
    notes.leftOut("messages without info", place);
    return [];
  }
  const id = textAt(info, "id");
  const role = textAt(info, "role");
  const name = `${place}, ${JSON.stringify(id)}`;
  if (role === "") notes.mended("messages without a role", name);
  const parts = listAt(value, "parts").flatMap((part) => toPart(part, (kind) => notes.mended(kind, name)));
  return [
    {
      id,
      role,
      timestampMicros: microsAt(objectAt(info, "time"), "created"),
      parts,
      metadata: { opencode: without(info as JsonObject, "id", "role", "sessionID") },
      ...(role === "assistant" && isNewCall(callOf(info as JsonObject), context) && usageFrom(info, name, context)),
    },
  ];
}

/** What tells a call from all others. Forks of OpenCode hold copies of messages, with ids of their own. */
function callOf(info: JsonObject): string {
  const { time, tokens, cost, modelID } = info;
  return JSON.stringify(["opencode", time, tokens, cost, modelID]);
}

function toPart(part: unknown, onMend: (kind: string) => void): ForeignPart[] {
  if (!isObject(part)) {
    onMend(part === null ? "parts that are null, which were passed over" : "parts that are not objects");
    return part === null ? [] : [{ type: "unknown", data: { value: part as string } }];
  }
  // Only these fields have a place of their own, and only as texts.
  const own = ["id", "type", "text"].filter((key) => typeof part[key] === "string");
  return [
    {
      id: textAt(part, "id"),
      type: textAt(part, "type"),
      text: typeof part.text === "string" ? part.text : "",
      data: without(part as JsonObject, ...own, "sessionID", "messageID"),
    },
  ];
}

/** A time in milliseconds. */
function microsAt(time: JsonObject, key: string): number | undefined {
  const millis = time[key];
  return typeof millis === "number" ? Math.round(millis * 1000) : undefined;
}
