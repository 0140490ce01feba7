import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { Code, type SessionPoolClient, type StoredMessage, type WatchEvent } from "../client/index.js";
import { hasCode } from "./missing.js";
import { chunksBetween, endsOf } from "./ui-chunks.js";
import { fromUIMetadata, fromUIPart, type StoredPart, unlessEmpty, wellFormed } from "./ui-message.js";

type Writer = Awaited<ReturnType<SessionPoolClient["startDraft"]>>;
type DraftDeltas = Extract<WatchEvent["event"], { case: "draftExtended" }>["value"]["deltas"];

export interface KeepOptions {
  /**
   * Called at most once, when the draft was ended by somebody else, for example with a stop button, or cannot be
   * written any more. Stop the model then.
   */
  readonly onStop?: (error: unknown) => void;
}

/**
 * Keeps an answer while it is streamed. Use it as
 * `consumeSseStream: ({ stream }) => keepUIMessageStream(client, chatId, stream)`.
 *
 * The answer is a draft of the session, which `resumeUIMessageStream` reads, and becomes a message at the end. This
 * needs `generateMessageId`, and takes the place of `saveUIMessages` in `onFinish`. An answer that ends with an error
 * is kept as far as it came, with `interrupted: true` in its metadata. Never rejects: resolves to whether a message is
 * stored, and calls `onStop` with the error that kept the whole answer from being stored.
 */
export async function keepUIMessageStream(
  client: SessionPoolClient,
  sessionId: string,
  stream: ReadableStream<string>,
  { onStop }: KeepOptions = {},
): Promise<boolean> {
  let isStopped = false;
  const stop = (error: unknown) => {
    if (!isStopped) onStop?.(error);
    isStopped = true;
  };
  try {
    return await writeDraft(client, sessionId, chunksOfSse(stream), stop);
  } catch (error) {
    stop(error);
    return false;
  }
}

/** Calls `onEnd` as soon as the draft can no longer be written; the promise rejects with the next chunk. */
async function writeDraft(
  client: SessionPoolClient,
  sessionId: string,
  stream: ReadableStream<UIMessageChunk>,
  onEnd: (error: unknown) => void,
): Promise<boolean> {
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  let draft: Writer | undefined;
  let kept: StoredPart[] = [];
  let metadata: ReturnType<typeof fromUIMetadata> = {};
  try {
    for await (const state of readUIMessageStream<UIMessage>({ stream, onError })) {
      metadata = fromUIMetadata(state.metadata);
      if (draft === undefined) {
        const message = { info: { id: state.id, role: state.role } };
        const started = await client.startDraft(sessionId, message, { createSession: true });
        started.signal.addEventListener("abort", () => onEnd(started.signal.reason));
        draft = started;
      }
      const parts = state.parts.map(fromUIPart);
      writeDifference(draft, kept, parts);
      kept = parts;
    }
  } catch (error) {
    errors.push(error);
    if (draft !== undefined) onEnd(error);
  }
  if (draft === undefined) throw errors[0] ?? new Error("The stream ended before it began a message");
  await draft.finish({ metadata: { ...metadata, ...(errors.length > 0 && { interrupted: true }) } });
  return true;
}

function writeDifference(draft: Writer, before: readonly StoredPart[], after: readonly StoredPart[]): void {
  after.forEach((part, i) => {
    const old = before[i];
    const { text } = part;
    const hasGrown =
      old !== undefined && JSON.stringify({ ...old, text: "" }) === JSON.stringify({ ...part, text: "" });
    if (hasGrown && text.startsWith(old.text)) {
      if (text !== old.text) draft.write(text.slice(old.text.length), part.id);
    } else draft.put(wellFormed(part));
  });
}

/**
 * The stream of an answer that is still being written, for the route that `useChat({ resume: true })` calls: first
 * everything so far, then the rest as it grows. Resolves to null when there is none, in which case answer 204.
 */
export async function resumeUIMessageStream(
  client: SessionPoolClient,
  sessionId: string,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<ReadableStream<UIMessageChunk> | null> {
  const position = await countOrMissing(client, sessionId);
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
  yield* reader.begin(draft);
  for await (const event of events) {
    yield* await reader.chunksOf(event);
    if (reader.hasEnded) return;
  }
}

/** Turns the events of a watch about one draft into chunks. */
class DraftReader {
  hasEnded = false;
  readonly #client: SessionPoolClient;
  readonly #sessionId: string;
  readonly #messageId: string;
  #parts: StoredPart[] = [];

  constructor(client: SessionPoolClient, sessionId: string, messageId: string) {
    this.#client = client;
    this.#sessionId = sessionId;
    this.#messageId = messageId;
  }

  begin(message: StoredMessage): UIMessageChunk[] {
    return [{ type: "start", messageId: this.#messageId, ...metadataOf(message) }, ...this.#become(message.parts)];
  }

  async chunksOf({ event }: WatchEvent): Promise<UIMessageChunk[]> {
    const id = this.#messageId;
    if (event.case === "draft" && event.value.message?.info?.id === id) return this.#become(event.value.message.parts);
    if (event.case === "draftExtended" && event.value.messageId === id)
      return this.#become(extended(this.#parts, event.value.deltas));
    if (event.case === "appended" && event.value.info?.id === id)
      return [...this.#become(event.value.parts), ...this.#end({ type: "finish", ...metadataOf(event.value) })];
    if (event.case === "draftEnded" && event.value.messageId === id) return this.#end({ type: "abort" });
    // The draft may have been discarded just before the watch began.
    if (event.case === "heartbeat" && !(await this.#isOpen())) return this.#end({ type: "abort" });
    return [];
  }

  #become(parts: readonly StoredPart[]): UIMessageChunk[] {
    const before = this.#parts;
    this.#parts = parts.map(({ id, type, text, data }) => ({ id, type, text, ...(data !== undefined && { data }) }));
    return chunksBetween(before, this.#parts);
  }

  #end(last: UIMessageChunk): UIMessageChunk[] {
    this.hasEnded = true;
    return [...endsOf(this.#parts), last];
  }

  async #isOpen(): Promise<boolean> {
    const { drafts } = await this.#client.messages.listDrafts({ sessionId: this.#sessionId });
    return drafts.some(({ message }) => message?.info?.id === this.#messageId);
  }
}

function metadataOf({ info }: StoredMessage): { readonly messageMetadata?: unknown } {
  const { metadata } = unlessEmpty(info?.metadata);
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

async function countOrMissing(client: SessionPoolClient, sessionId: string): Promise<number | undefined> {
  try {
    return (await client.messages.countMessages({ sessionId })).count;
  } catch (error) {
    if (hasCode(error, Code.NotFound)) return undefined;
    throw error;
  }
}

/** The chunks of Server-Sent Events, one event each, as the AI SDK writes them. */
function chunksOfSse(stream: ReadableStream<string>): ReadableStream<UIMessageChunk> {
  return stream.pipeThrough(
    new TransformStream<string, UIMessageChunk>({
      transform(event, controller) {
        const data = event.startsWith("data: ") ? event.slice("data: ".length).trim() : "";
        if (data !== "" && data !== "[DONE]") controller.enqueue(JSON.parse(data) as UIMessageChunk);
      },
    }),
  );
}
