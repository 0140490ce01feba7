import type { JsonObject } from "@bufbuild/protobuf";
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import type { NewMessage, SessionPoolClient } from "../index.js";
import { FittedState } from "./fitted-state.js";
import { keep } from "./keep.js";
import { hasMet, meet } from "./seen.js";
import { hasOpenCalls } from "./ui-calls.js";
import { DROPPED, fittedUIMessage, fromUIMessage, type StoredPart, wellFormed } from "./ui-message.js";
import {
  noteCounted,
  type SeenTimes,
  type SpentStep,
  spentSteps,
  type UIRun,
  usageOfAnswer,
  usageOfSteps,
} from "./ui-usage.js";
import { usageField } from "./usage.js";

/** Chunks with something that the model has written. */
const IS_TOKEN = /^(?:text-delta|reasoning-delta|tool-input-(?:start|delta|available)|file)$/;

type Writer = Awaited<ReturnType<SessionPoolClient["startDraft"]>>;

export interface KeepOptions {
  /**
   * Called at most once, within seconds after somebody else has ended the draft, for example with a stop button, or
   * when it cannot be written any more. Stop the model then.
   */
  readonly onStop?: (error: unknown) => void;
  /**
   * What `streamText` or the agent has returned, whose stream this is. The usage of the message is what its steps took.
   * Without it, the usage is what the message's metadata says, if it says so in a known form.
   */
  readonly run?: UIRun;
}

/**
 * Keeps an answer while it is streamed. Use it as
 * `consumeSseStream: ({ stream }) => keepUIMessageStream(client, chatId, stream)`.
 *
 * The answer is a draft of the session, which `resumeUIMessageStream` reads, and becomes a message at the end. This
 * needs `generateMessageId`, and takes the place of `saveUIMessages` in `onFinish`. An answer that ends with an error,
 * is aborted, or is finished by somebody else is kept as far as it came, with `interrupted: true` in its metadata.
 * Never rejects: resolves to whether a message is stored, and calls `onStop` with the error that kept the whole answer
 * from being stored. A missing session is made, unless this process has loaded it or saved in it before. The usage of
 * the message says what the run took, when this call began, when the first token came, and how long the stream was.
 *
 * Not for an answer that continues a stored message, as after an approval: save that in `onFinish`.
 */
export async function keepUIMessageStream(
  client: SessionPoolClient,
  sessionId: string,
  stream: ReadableStream<string>,
  { onStop, run }: KeepOptions = {},
): Promise<boolean> {
  let isStopped = false;
  const stop = (error: unknown) => {
    if (!isStopped) onStop?.(error);
    isStopped = true;
  };
  const keeper = new Keeper(client, sessionId, stop, run);
  try {
    return await keeper.keep(stream);
  } catch (error) {
    stop(error);
    return await keeper.markInterrupted();
  }
}

/** Writes one answer as a draft. */
class Keeper {
  readonly #client: SessionPoolClient;
  readonly #sessionId: string;
  readonly #onEnd: (error: unknown) => void;
  #draft: Writer | undefined;
  readonly #state = new FittedState((part) => this.#attach(part));
  #last: UIMessage | undefined;
  #kept: readonly StoredPart[] = [];
  #metadata: JsonObject = {};
  /** Whether the stream was aborted, and whether it said that it is complete. */
  #isAborted = false;
  #isComplete = false;
  readonly #run: UIRun | undefined;
  readonly #times = new StreamTimes();
  #hasOpenCalls = false;

  /** `onEnd` is called as soon as the draft can no longer be written. */
  constructor(client: SessionPoolClient, sessionId: string, onEnd: (error: unknown) => void, run: UIRun | undefined) {
    this.#client = client;
    this.#sessionId = sessionId;
    this.#onEnd = onEnd;
    this.#run = run;
  }

  async keep(stream: ReadableStream<string>): Promise<boolean> {
    const errors: unknown[] = [];
    const chunks = chunksOfSse(stream, (chunk) => {
      this.#times.see(chunk.type);
      if (chunk.type === "abort") this.#isAborted = true;
      if (chunk.type === "finish") this.#isComplete = true;
    });
    try {
      const onError = (error: unknown) => void errors.push(error);
      for await (const state of readUIMessageStream<UIMessage>({ stream: chunks, onError })) {
        this.#draft ??= await this.#start(state);
        const { parts, metadata } = await this.#state.next(state);
        this.#write(parts);
        this.#metadata = metadata;
        this.#last = state;
        this.#hasOpenCalls = hasOpenCalls(state.parts);
      }
      this.#times.end();
      if (this.#last !== undefined) await this.#writeLast(this.#last);
    } catch (error) {
      this.#times.end();
      errors.push(error);
      if (this.#draft !== undefined) this.#onEnd(error);
    }
    if (this.#draft === undefined) throw errors[0] ?? new Error("The stream ended before it began a message");
    // A complete answer may leave calls to the page. One that just ends has not been able to finish them.
    const isCut = this.#hasOpenCalls && !this.#isComplete;
    const isInterrupted = errors.length > 0 || this.#isAborted || isCut;
    const metadata = { ...this.#metadata, ...(isInterrupted && { interrupted: true }) };
    const steps = await spentSteps(this.#run);
    await this.#draft.finish({ metadata, ...this.#usage(steps) });
    noteCounted(steps, this.#sessionId, this.#draft.messageId);
    return true;
  }

  /** The field of the message. */
  #usage(steps: readonly SpentStep[]) {
    return usageField(usageOfAnswer(this.#last?.metadata, usageOfSteps(steps), this.#times));
  }

  /**
   * Marks the message as interrupted if somebody else has finished the draft. Resolves to whether there is such a
   * message.
   */
  async markInterrupted(): Promise<boolean> {
    const messageId = this.#draft?.messageId;
    if (messageId === undefined) return false;
    const sessionId = this.#sessionId;
    try {
      const { info } = await this.#client.messages.getMessage({ sessionId, messageId });
      const metadata = { ...info?.metadata, interrupted: true };
      // Whoever finished it may have known better.
      const steps = info?.usage === undefined ? await spentSteps(this.#run) : [];
      const usage = info?.usage === undefined ? this.#usage(steps) : {};
      await this.#client.messages.updateMessage({
        sessionId,
        messageId,
        message: { info: { metadata, ...usage } } as NewMessage,
        updateMask: { paths: ["info.metadata", ...("usage" in usage ? ["info.usage"] : [])] },
      });
      noteCounted(steps, sessionId, messageId);
      return true;
    } catch {
      // It was discarded, or the session was deleted.
      return false;
    }
  }

  async #start({ id, role }: UIMessage): Promise<Writer> {
    const createSession = !hasMet(this.#client, this.#sessionId);
    const draft = await this.#client.startDraft(this.#sessionId, { info: { id, role } }, { createSession });
    if (createSession) meet(this.#client, this.#sessionId, []);
    draft.signal.addEventListener("abort", () => this.#onEnd(draft.signal.reason));
    return draft;
  }

  /** What is large in a part goes into attachments. Where the service refuses them, the whole message is cut later. */
  async #attach(part: StoredPart): Promise<StoredPart> {
    const { parts = [] } = await keep(
      this.#client,
      this.#sessionId,
      { info: {}, parts: [part] },
      { fit: (one) => one },
    );
    return parts[0] as StoredPart;
  }

  /** Turns the draft into the message that a save would store, with its texts in attachments and all of them named. */
  async #writeLast(state: UIMessage): Promise<void> {
    const message = await keep(this.#client, this.#sessionId, fromUIMessage(state), { fit: fittedUIMessage });
    const parts = (message.parts ?? []) as readonly StoredPart[];
    this.#write(parts.map((part, i) => unlessSame(part, this.#kept[i])));
    this.#metadata = { ...(message.info?.metadata as JsonObject | undefined) };
  }

  #write(parts: readonly StoredPart[]): void {
    for (const [i, part] of parts.entries()) this.#writePart(part, this.#kept[i]);
    // After a step was reset, the parts that it had are gone.
    for (const { id } of this.#kept.slice(parts.length)) this.#draft?.put({ id, type: DROPPED });
    this.#kept = parts;
  }

  #writePart(part: StoredPart, old: StoredPart | undefined): void {
    const { id, type, text, data } = part;
    const hasGrown = old !== undefined && type === old.type && data === old.data;
    if (!hasGrown || !text.startsWith(old.text)) this.#draft?.put(wellFormed(part));
    else if (text !== old.text) this.#draft?.write(text.slice(old.text.length), id);
  }
}

/** When a stream began, when its first token came, and how long it took. The clock may be set meanwhile. */
class StreamTimes implements SeenTimes {
  readonly startTimeMicros = Date.now() * 1000;
  readonly #begin = performance.now();
  firstTokenTimeMicros: number | undefined;
  durationMicros: number | undefined;

  see(type: string): void {
    if (this.firstTokenTimeMicros === undefined && IS_TOKEN.test(type))
      this.firstTokenTimeMicros = this.startTimeMicros + this.#elapsed();
  }

  /** The first call counts. */
  end(): void {
    this.durationMicros ??= this.#elapsed();
  }

  #elapsed(): number {
    return Math.round((performance.now() - this.#begin) * 1000);
  }
}

/** The part that was written already, if it says the same. */
function unlessSame(part: StoredPart, old: StoredPart | undefined): StoredPart {
  if (old === undefined || JSON.stringify(wellFormed(old)) !== JSON.stringify(part)) return part;
  return old;
}

/** The chunks of Server-Sent Events, one event each, as the AI SDK writes them. */
function chunksOfSse(
  stream: ReadableStream<string>,
  onChunk: (chunk: UIMessageChunk) => void,
): ReadableStream<UIMessageChunk> {
  return stream.pipeThrough(
    new TransformStream<string, UIMessageChunk>({
      transform(event, controller) {
        const data = event.startsWith("data: ") ? event.slice("data: ".length).trim() : "";
        if (data === "" || data === "[DONE]") return;
        const chunk = JSON.parse(data) as UIMessageChunk;
        onChunk(chunk);
        controller.enqueue(chunk);
      },
    }),
  );
}
