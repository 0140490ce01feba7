import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type Draft,
  type MessageService,
  type WatchMessagesResponse,
  WatchMessagesResponseSchema,
} from "../../../gen/sessionpool/v1/message_service_pb.js";
import { type WithNumbers, withNumbers } from "./int64.js";
import type { ServiceClient } from "./service-client.js";

type WatchEvent = WithNumbers<WatchMessagesResponse>;

interface ToldDraft {
  /** Tells it from another draft that uses its id later. */
  readonly startedAt: string;
  /** Whether a message with its id has been told since. */
  hasMessage: boolean;
  /** Whether the present connection has told of it, and therefore tells its end. */
  isCurrent: boolean;
}

/**
 * The drafts that a watch has told of and that have not ended. A connection begins with the drafts that are open then,
 * and says nothing about those that have ended since the one before, so their ends are added here.
 */
export class ToldDrafts {
  readonly #messages: ServiceClient<typeof MessageService>;
  readonly #sessionId: string;
  readonly #told = new Map<string, ToldDraft>();
  #resumeToken = "";

  constructor(messages: ServiceClient<typeof MessageService>, sessionId: string) {
    this.#messages = messages;
    this.#sessionId = sessionId;
  }

  /** The events of a connection that `open` opens, and the ends of drafts that it leaves out. */
  async *connect(
    open: () => AsyncIterable<WatchEvent>,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent, void, undefined> {
    for (const draft of this.#told.values()) draft.isCurrent = false;
    if (this.#told.size > 0) for (const id of await this.#discarded(signal)) yield this.#end(id);
    for await (const event of open()) yield* this.#completed(event);
  }

  /**
   * The drafts that have ended and whose messages do not follow. Those that have ended before the connection begins are
   * not told by it, whatever happens meanwhile.
   */
  async #discarded(signal: AbortSignal): Promise<readonly string[]> {
    const sessionId = this.#sessionId;
    const { drafts } = await this.#messages.listDrafts({ sessionId }, { signal });
    const open = new Map(drafts.map((draft) => [idOf(draft.message), startOf(draft)]));
    const discarded: string[] = [];
    for (const [messageId, { startedAt, hasMessage }] of this.#told) {
      if (open.get(messageId) === startedAt) continue;
      const follows = !hasMessage && (await exists(this.#messages.getMessage({ sessionId, messageId }, { signal })));
      if (!follows) discarded.push(messageId);
    }
    return discarded;
  }

  *#completed(whole: WatchEvent): Generator<WatchEvent, void, undefined> {
    const { event } = whole;
    this.#resumeToken = whole.resumeToken;
    if (event.case === "draft") {
      const [id, startedAt] = [idOf(event.value.message), startOf(event.value)];
      const told = this.#told.get(id);
      if (told && told.startedAt !== startedAt) yield this.#end(id);
      this.#told.set(id, { startedAt, hasMessage: false, isCurrent: true });
    } else if (event.case === "draftEnded") {
      this.#told.delete(event.value.messageId);
    } else if (event.case === "draftExtended" || event.case === "heartbeat") {
      // These come only after all open drafts. Any other has ended just before the connection began.
      for (const [id, { isCurrent }] of this.#told) if (!isCurrent) yield this.#end(id);
    }
    yield whole;
    if (event.case !== "appended") return;
    const id = idOf(event.value);
    const told = this.#told.get(id);
    if (!told) return;
    told.hasMessage = true;
    if (!told.isCurrent) yield this.#end(id);
  }

  #end(messageId: string): WatchEvent {
    const finished = this.#told.get(messageId)?.hasMessage ?? false;
    this.#told.delete(messageId);
    const event = { case: "draftEnded" as const, value: { messageId, finished } };
    const init = { event, resumeToken: this.#resumeToken };
    return withNumbers(WatchMessagesResponseSchema, create(WatchMessagesResponseSchema, init));
  }
}

function idOf(message: WithNumbers<Draft>["message"]): string {
  return message?.info?.id ?? "";
}

function startOf({ startTime }: WithNumbers<Draft>): string {
  return `${startTime?.seconds}.${startTime?.nanos}`;
}

async function exists(message: Promise<unknown>): Promise<boolean> {
  try {
    await message;
    return true;
  } catch (error) {
    if (error instanceof ConnectError && error.code === Code.NotFound) return false;
    throw error;
  }
}
