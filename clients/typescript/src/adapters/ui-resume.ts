import type { JsonObject } from "@bufbuild/protobuf";
import type { UIMessageChunk } from "ai";
import type { SessionPoolClient, StoredMessage, WatchEvent } from "../index.js";
import { Code } from "../index.js";
import { ATTACHMENT } from "./attached.js";
import { hasCode, unlessMissing } from "./missing.js";
import { restored } from "./restored.js";
import { ChunkMaker } from "./ui-chunks.js";
import { fromUIMessage, type StoredPart, toUIMessage, toUIMetadata } from "./ui-message.js";

type DraftDeltas = Extract<WatchEvent["event"], { case: "draftExtended" }>["value"]["deltas"];

/**
 * The stream of an answer that is still being written, for the route that `useChat({ resume: true })` calls: first
 * everything so far, then the rest as it grows. It ends with `abort` when the answer is discarded or its session
 * deleted, and with `error` when it can no longer be followed. Resolves to null when there is none, in which case
 * answer 204.
 */
export async function resumeUIMessageStream(
  client: SessionPoolClient,
  sessionId: string,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<ReadableStream<UIMessageChunk> | null> {
  const position = (await unlessMissing(() => client.messages.countMessages({ sessionId })))?.count;
  if (position === undefined) return null;
  const { drafts } = await client.messages.listDrafts({ sessionId });
  const draft = drafts.findLast(({ message }) => message?.info?.role === "assistant");
  const messageId = draft?.message?.info?.id;
  if (draft?.message === undefined || messageId === undefined) return null;
  const canceled = new AbortController();
  const stopped = signal === undefined ? canceled.signal : AbortSignal.any([signal, canceled.signal]);
  const reader = new DraftReader(client, sessionId, messageId);
  const events = client.watch(sessionId, { fromPosition: position, signal: stopped, heartbeats: true });
  const chunks = chunksFrom(reader, draft.message, events);
  // Chunks are made when they are read, so that they do not pile up for a slow reader.
  return new ReadableStream<UIMessageChunk>({
    async pull(controller) {
      const { value, done } = await chunks.next();
      if (done !== true) controller.enqueue(value);
      else if (!canceled.signal.aborted) controller.close();
    },
    async cancel() {
      canceled.abort();
      await chunks.return();
    },
  });
}

async function* chunksFrom(
  reader: DraftReader,
  draft: StoredMessage,
  events: AsyncIterable<WatchEvent>,
): AsyncGenerator<UIMessageChunk, void, undefined> {
  yield* await reader.begin(draft);
  try {
    for await (const event of events) {
      yield* await reader.chunksOf(event);
      if (reader.hasEnded) return;
    }
  } catch (error) {
    yield* reader.fail(error);
  }
}

/** Turns the events of a watch about one draft into chunks. */
class DraftReader {
  hasEnded = false;
  readonly #client: SessionPoolClient;
  readonly #sessionId: string;
  readonly #messageId: string;
  readonly #chunks = new ChunkMaker();
  #parts: readonly StoredPart[] = [];
  /** The data of parts, the text that was beside it, and these parts with what is in attachments. */
  readonly #restored = new WeakMap<JsonObject, { readonly text: string; readonly whole: StoredPart }>();

  constructor(client: SessionPoolClient, sessionId: string, messageId: string) {
    this.#client = client;
    this.#sessionId = sessionId;
    this.#messageId = messageId;
  }

  async begin(message: StoredMessage): Promise<UIMessageChunk[]> {
    const start = { type: "start" as const, messageId: this.#messageId, ...metadataOf(message) };
    return [start, ...(await this.#become(message.parts))];
  }

  async chunksOf({ event }: WatchEvent): Promise<UIMessageChunk[]> {
    const id = this.#messageId;
    if (event.case === "draft" && event.value.message?.info?.id === id) return this.#become(event.value.message.parts);
    if (event.case === "draftExtended" && event.value.messageId === id)
      return this.#become(extended(this.#parts, event.value.deltas));
    if (event.case === "appended" && event.value.info?.id === id) return this.#finish(event.value);
    if (event.case === "draftEnded" && event.value.messageId === id) return this.#end({ type: "abort" });
    // The draft may have been discarded just before the watch began.
    if (event.case === "heartbeat" && !(await this.#isOpen())) return this.#end({ type: "abort" });
    return [];
  }

  fail(error: unknown): UIMessageChunk[] {
    if (hasCode(error, Code.NotFound)) return this.#end({ type: "abort" });
    return this.#end({ type: "error", errorText: "The answer can no longer be followed" });
  }

  /** The calls of an interrupted message end here, too, as they do when it is loaded. */
  async #finish(message: StoredMessage): Promise<UIMessageChunk[]> {
    const [whole = message] = await restored(this.#client, this.#sessionId, [message]);
    const parts = (fromUIMessage(toUIMessage(whole)).parts ?? []) as readonly StoredPart[];
    return [...(await this.#become(parts)), ...this.#end({ type: "finish", ...metadataOf(message) })];
  }

  async #become(parts: readonly StoredPart[]): Promise<UIMessageChunk[]> {
    this.#parts = parts.map(({ id, type, text, data }) => ({ id, type, text, ...(data !== undefined && { data }) }));
    const whole: StoredPart[] = [];
    for (const part of this.#parts)
      if (part.type !== ATTACHMENT || part.text !== "" || part.data !== undefined)
        whole.push(await this.#restore(part));
    return this.#chunks.become(whole);
  }

  async #restore(part: StoredPart): Promise<StoredPart> {
    if (part.data === undefined) return part;
    const known = this.#restored.get(part.data);
    // A text that grows keeps its data.
    if (known?.text === part.text) return known.whole;
    const [message] = await restored(this.#client, this.#sessionId, [{ parts: [part] } as unknown as StoredMessage]);
    const whole = (message?.parts[0] ?? part) as StoredPart;
    this.#restored.set(part.data, { text: part.text, whole });
    return whole;
  }

  #end(last: UIMessageChunk): UIMessageChunk[] {
    this.hasEnded = true;
    return [...this.#chunks.end(), last];
  }

  async #isOpen(): Promise<boolean> {
    const { drafts } = await this.#client.messages.listDrafts({ sessionId: this.#sessionId });
    return drafts.some(({ message }) => message?.info?.id === this.#messageId);
  }
}

function metadataOf({ info }: StoredMessage): { readonly messageMetadata?: unknown } {
  const { metadata } = toUIMetadata(info?.metadata);
  return metadata === undefined ? {} : { messageMetadata: metadata };
}

/** The parts of a draft after deltas, as the service computes them. */
function extended(parts: readonly StoredPart[], deltas: DraftDeltas): StoredPart[] {
  const next = [...parts];
  for (const { delta } of deltas) {
    if (delta.case === undefined) continue;
    const id = delta.case === "appendText" ? delta.value.partId : (delta.value.part?.id ?? "");
    const found = next.findLastIndex((part) => part.id === id);
    const place = found < 0 ? next.length : found;
    if (delta.case === "appendText") {
      const old = next[place] ?? { id, type: "text", text: "" };
      next[place] = { ...old, text: old.text + delta.value.text };
    } else if (delta.value.part !== undefined) {
      const { type, text, data } = delta.value.part;
      next[place] = { id, type, text, ...(data !== undefined && { data }) };
    }
  }
  return next;
}
