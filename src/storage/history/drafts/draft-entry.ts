import { type Part, sameContent } from "../../../domain/chat-message.js";
import type { DraftDelta } from "../../../domain/draft.js";
import type { JsonObject } from "../../../domain/json.js";
import { type BodyContent, contentOf, MessageBody, type NamedAttachment } from "../../../domain/message-body.js";
import type { Usage } from "../../../domain/usage.js";
import type { Entry } from "../log-store.js";

/** The meaning of one entry of a draft's log. The first is `started`; nothing follows `finished` or `discarded`. */
export type DraftStep = StepContent & {
  /** The attachments that it names; absent for none. */
  readonly attachments?: readonly NamedAttachment[] | undefined;
};

type StepContent =
  | {
      readonly kind: "started";
      readonly messageId: string;
      readonly role: string;
      readonly parts: readonly Part[];
      readonly metadata?: JsonObject | undefined;
      readonly usage?: Usage | undefined;
    }
  | { readonly kind: "extended"; readonly deltas: readonly DraftDelta[] }
  | {
      readonly kind: "finished";
      readonly deltas: readonly DraftDelta[];
      /** Fields to add to the metadata. */
      readonly metadata?: JsonObject | undefined;
      /** Replaces the usage; absent leaves it. */
      readonly usage?: Usage | undefined;
    }
  | { readonly kind: "discarded" };

/** Where and when a step is written. */
export interface StepPlace {
  readonly log: string;
  readonly seq: number;
  readonly sessionId: string;
  readonly timestampMicros: number;
}

const APPEND = "append";
const PUT = "put ";
/** Ids of callers contain no control character, so the id of an entry tells its kind. */
const MARK = "\u0000";

/** The first entry has the message's id. The others have ids that differ from it and from each other. */
export function toEntry(step: DraftStep, { log, seq, sessionId, timestampMicros }: StepPlace): Entry {
  const isStart = step.kind === "started";
  return {
    log,
    seq,
    id: isStart ? step.messageId : `${MARK}${step.kind} ${seq}`,
    timestampMicros,
    role: isStart ? step.role : "",
    body: MessageBody.of(contentOfStep(step), step.attachments),
    sessionId,
    originSessionId: sessionId,
    remaining: 0,
  };
}

export function toStep(entry: Entry): DraftStep {
  const { id, role } = entry;
  const { parts, metadata, usage } = entry.body;
  const kind = kindOf(id);
  switch (kind) {
    case "started":
      return { kind, messageId: id, role, parts, metadata, usage };
    case "extended":
      return { kind, deltas: parts.map(toDelta) };
    case "finished":
      return { kind, deltas: parts.map(toDelta), metadata, usage };
    case "discarded":
      return { kind };
  }
}

/** The kind of the entry with this id. */
export function kindOf(entryId: string): DraftStep["kind"] {
  if (!entryId.startsWith(MARK)) return "started";
  return entryId.slice(MARK.length, entryId.indexOf(" ")) as DraftStep["kind"];
}

/** Whether the entry with this id is a verdict. */
export function isVerdict(entryId: string): boolean {
  return ["finished", "discarded"].includes(kindOf(entryId));
}

/** Whether two steps are equal. */
export function sameStep(a: DraftStep, b: DraftStep): boolean {
  const place = { log: "", seq: 1, sessionId: "", timestampMicros: 0 };
  return a.kind === b.kind && sameContent(contentOf(toEntry(a, place)), contentOf(toEntry(b, place)));
}

function contentOfStep(step: DraftStep): BodyContent {
  switch (step.kind) {
    case "started":
      return { parts: step.parts, metadata: step.metadata, usage: step.usage };
    case "extended":
      return { parts: step.deltas.map(toPart) };
    case "finished":
      return { parts: step.deltas.map(toPart), metadata: step.metadata, usage: step.usage };
    case "discarded":
      return { parts: [] };
  }
}

function toPart(delta: DraftDelta): Part {
  if (delta.kind === "append_text") return { id: delta.partId, type: APPEND, text: delta.text };
  return { ...delta.part, type: PUT + delta.part.type };
}

function toDelta(part: Part): DraftDelta {
  if (part.type === APPEND) return { kind: "append_text", partId: part.id, text: part.text };
  return { kind: "put_part", part: { ...part, type: part.type.slice(PUT.length) } };
}
