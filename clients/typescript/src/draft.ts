import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { type DraftDelta, type MessageService, PartSchema } from "../../../gen/sessionpool/v1/message_service_pb.js";
import { fromNumbers } from "./int64.js";
import type { NewMessage } from "./messages.js";
import { isTransient } from "./retry.js";
import type { ServiceClient } from "./service-client.js";

type NewPart = MessageInitShape<typeof PartSchema>;
type Delta = {
  delta:
    | { case: "appendText"; value: { partId: string; text: string } }
    | { case: "putPart"; value: { part: NewPart } };
};
type JsonObject = NonNullable<NewMessage["info"]>["metadata"];
type NewUsage = NonNullable<NewMessage["info"]>["usage"];

/**
 * How long a writer is silent before it renews its draft. This is also how late it learns that somebody has ended the
 * draft, for which people who press stop wait.
 */
const RENEW_MS = 2000;

export interface DraftOptions {
  /** Makes the session first if it is missing. */
  readonly createSession?: boolean;
  /** Discards the draft, rather than finishing it, when nobody extends it any more, for example after a crash. */
  readonly discardWhenAbandoned?: boolean;
}

/**
 * A message that is being written, for example while a model streams it. Everyone who watches the session sees it grow,
 * and `finish` makes it a message of the history. Text that is written during a call goes out with the next one, so
 * that a slow connection does not cost a call for each word. While nothing is written, for example during a long tool,
 * the draft is renewed every 2 seconds, so that it is not taken for abandoned, as long as something references its
 * writer.
 */
export class DraftWriter {
  /** The id of the draft and of the message that it becomes. */
  readonly messageId: string;
  readonly #messages: ServiceClient<typeof MessageService>;
  readonly #sessionId: string;
  readonly #ended = new AbortController();
  #version: number;
  #waiting: Delta[] = [];
  /** The deltas of a call without an answer. Until it has one, only the same call may be sent again. */
  #unanswered: DraftDelta[] | undefined;
  /** For each part, the first half of a character whose other half has not been written yet. */
  readonly #halves = new Map<string, string>();
  #sending: Promise<void> | undefined;
  #error: ConnectError | undefined;
  #isRenewed = true;
  #renewal: ReturnType<typeof setTimeout> | undefined;

  /** Called by `startDraft`, which callers use instead. */
  constructor(messages: ServiceClient<typeof MessageService>, sessionId: string, messageId: string, version: number) {
    this.#messages = messages;
    this.#sessionId = sessionId;
    this.messageId = messageId;
    this.#version = version;
    this.#renewLater();
  }

  /**
   * Aborted when the draft can no longer be written: a call has failed, or somebody has finished or discarded the draft
   * or deleted its session, which is noticed within seconds. Stop the model then.
   */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /**
   * Adds text to a part; the first text makes a part of type `text`. Throws the error of an earlier call that failed.
   * Half of a character at the end of the text waits for its other half, because the service takes whole characters. A
   * half that stays alone becomes U+FFFD: whoever passes on a stream cannot mend it, and the rest should be kept.
   */
  write(text: string, partId = "text"): void {
    const all = (this.#halves.get(partId) ?? "") + text;
    const isHalf = /[\ud800-\udbff]$/.test(all);
    if (isHalf) this.#halves.set(partId, all.slice(-1));
    else this.#halves.delete(partId);
    this.#append(isHalf ? all.slice(0, -1) : all, partId);
  }

  /**
   * Adds a whole part, or replaces the one with its id. Throws the error of an earlier call that failed. TypeError: the
   * part holds what cannot be stored, such as half of a character; the draft stays as it is.
   */
  put(part: NewPart): void {
    fromNumbers(PartSchema, part);
    this.#halves.delete(part.id ?? "");
    this.#add({ delta: { case: "putPart", value: { part } } });
  }

  /** Resolves when everything written so far would survive a crash. */
  async flush(): Promise<void> {
    while (this.#sending !== undefined) await this.#sending;
    this.#throwIfFailed();
  }

  /**
   * Finishes the draft, which becomes the newest message of the session. `metadata` is added to the message's. `usage` is
   * what the model's call took, in place of what the draft was begun with. What an earlier call could not add, because
   * the server did not answer, is sent once more before that.
   */
  async finish({
    metadata,
    usage,
  }: {
    readonly metadata?: JsonObject;
    readonly usage?: NewUsage;
  } = {}): Promise<{ messageId: string; position: number }> {
    if (this.#unanswered !== undefined && (this.#error === undefined || isTransient(this.#error))) {
      this.#error = undefined;
      this.#sending ??= this.#send();
    }
    for (const [partId, half] of this.#halves) this.#append(half, partId);
    this.#halves.clear();
    await this.#stopRenewing();
    this.#throwIfFailed();
    try {
      const { messageId, position } = await this.#messages.finishDraft({
        ...this.#target(),
        version: this.#version,
        ...(metadata !== undefined && { metadata }),
        ...(usage !== undefined && { usage }),
      });
      return { messageId, position };
    } catch (error) {
      this.#isRenewed = isTransient(ConnectError.from(error));
      this.#renewLater();
      throw error;
    }
  }

  /** Discards the draft and its content. */
  async discard(): Promise<void> {
    this.#waiting = [];
    await this.#stopRenewing();
    this.#unanswered = undefined;
    await this.#messages.discardDraft(this.#target());
  }

  #target() {
    return { sessionId: this.#sessionId, messageId: this.messageId };
  }

  #append(text: string, partId: string): void {
    const last = this.#waiting.at(-1)?.delta;
    const whole = text.toWellFormed();
    if (last?.case === "appendText" && last.value.partId === partId) last.value.text += whole;
    else if (whole !== "") this.#add({ delta: { case: "appendText", value: { partId, text: whole } } });
    else this.#throwIfFailed();
  }

  #throwIfFailed(): void {
    if (this.#error !== undefined) throw this.#error;
  }

  #add(delta: Delta): void {
    this.#throwIfFailed();
    this.#waiting.push(delta);
    this.#sending ??= this.#send();
  }

  /** Makes one call at a time, each with everything that is waiting. Never rejects. */
  async #send(): Promise<void> {
    try {
      // Waits first, so that text that is written without a pause goes out together.
      await Promise.resolve();
      for (let isAgain = false; this.#unanswered !== undefined || this.#waiting.length > 0; ) {
        this.#unanswered ??= this.#waiting.splice(0) as unknown as DraftDelta[];
        try {
          await this.#extend(this.#unanswered);
        } catch (error) {
          if (isAgain || !this.#isMereRenewal(ConnectError.from(error))) throw error;
          // The next renewal tries again, unless something is waiting for this one.
          if (this.#isRenewed && this.#waiting.length === 0) return;
          isAgain = true;
        }
      }
    } catch (error) {
      this.#error = ConnectError.from(error, Code.Unknown);
      this.#ended.abort(this.#error);
    } finally {
      this.#sending = undefined;
      this.#renewLater();
    }
  }

  async #extend(deltas: DraftDelta[]): Promise<void> {
    const { version } = await this.#messages.extendDraft({ ...this.#target(), version: this.#version, deltas });
    this.#version = version;
    this.#unanswered = undefined;
  }

  /**
   * Whether what failed was only a renewal, which may fail. An earlier server, and one whose drafts have no room for
   * another delta, refuse it as invalid.
   */
  #isMereRenewal(error: ConnectError): boolean {
    if (this.#unanswered === undefined || this.#unanswered.length > 0) return false;
    if (error.code !== Code.InvalidArgument) return isTransient(error);
    this.#isRenewed = false;
    this.#unanswered = undefined;
    return true;
  }

  /** The timer does not keep a writer alive that nobody references, nor the process. */
  #renewLater(): void {
    clearTimeout(this.#renewal);
    if (!this.#isRenewed || this.#error !== undefined) return;
    const writer = new WeakRef(this);
    this.#renewal = setTimeout(() => {
      const alive = writer.deref();
      if (alive !== undefined) alive.#renew();
    }, RENEW_MS);
    (this.#renewal as { unref?: () => void }).unref?.();
  }

  #renew(): void {
    if (this.#sending !== undefined) return;
    this.#unanswered ??= [];
    this.#sending = this.#send();
  }

  async #stopRenewing(): Promise<void> {
    this.#isRenewed = false;
    clearTimeout(this.#renewal);
    while (this.#sending !== undefined) await this.#sending;
  }
}

/** Begins a draft. A message without an id gets one here, so that a repeated call does not begin a second draft. */
export async function startDraft(
  messages: ServiceClient<typeof MessageService>,
  sessionId: string,
  message: NewMessage,
  options: DraftOptions = {},
): Promise<DraftWriter> {
  const { messageId, version } = await messages.startDraft({ sessionId, message, ...options });
  return new DraftWriter(messages, sessionId, messageId, version);
}
