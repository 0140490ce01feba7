// `session-pool-client/adapters/openai-agents`: the Session of the OpenAI Agents SDK (`@openai/agents` 0.20).
import type {
  AgentInputItem,
  SessionHistoryRewriteArgs,
  SessionHistoryRewriteAwareSession,
  SessionHistoryTransactionArgs,
  SessionHistoryTransactionAwareSession,
} from "@openai/agents-core";
import { ulid } from "ulid";
import { Code, type NewMessage, type SessionPoolClient, type StoredMessage } from "../index.js";
import { toItems, toMessage } from "./agent-items.js";
import {
  isExpected,
  markerOf,
  type PreparedTransaction,
  prepareTransaction,
  readMarker,
} from "./agent-transactions.js";
import { type AgentRun, keyOf, spentResponses } from "./agent-usage.js";
import { batchesOf } from "./batches.js";
import { keep } from "./keep.js";
import { hasCode, unlessMissing } from "./missing.js";
import { fittedToReadable } from "./readable-text.js";
import { restored } from "./restored.js";
import { withUsage } from "./usage.js";

export type { AgentRun } from "./agent-usage.js";

const PAGE_SIZE = 1000;
/** How often a transaction looks again because others have added messages meanwhile. */
const ATTEMPTS = 5;
/** How far back the items of a run are looked for. */
const MOST_OF_RUN = 1000;

/**
 * A conversation of the Agents SDK, kept in one session. Each item is a message with a part that holds the item, and
 * before it, for a message of a person or an assistant, a part of type `text` with its words. Items come back as
 * JSON.stringify has them, with binary data (`Uint8Array`). Large texts, images and files are kept in attachments.
 *
 * The first `addItems` makes the session. Once this object has seen the session, it does not make it again: after the
 * session was deleted, adding fails with `not_found`.
 */
export class SessionPoolSession implements SessionHistoryRewriteAwareSession, SessionHistoryTransactionAwareSession {
  readonly #client: SessionPoolClient;
  readonly #sessionId: string;
  #wasSeen = false;

  /** A ULID is the session's id when none is given. */
  constructor(client: SessionPoolClient, sessionId: string = ulid()) {
    this.#client = client;
    this.#sessionId = sessionId;
  }

  async getSessionId(): Promise<string> {
    return this.#sessionId;
  }

  /**
   * All items, or the last `limit` ones, oldest first; none when the session is missing. In place of an erased message
   * stands an item that says so, or the call or result that its other half needs.
   */
  async getItems(limit?: number): Promise<AgentInputItem[]> {
    if (limit !== undefined && limit <= 0) return [];
    return toItems((await this.#last(limit)).messages);
  }

  /** Adds items, all or nothing up to 1,000 items and 7 MiB; more are added in several steps. */
  async addItems(items: AgentInputItem[]): Promise<void> {
    await this.#append(await this.#keep(items.map((item) => toMessage(item))));
  }

  /** Removes and returns the last item. Of several simultaneous calls, each removes a different item. */
  async popItem(): Promise<AgentInputItem | undefined> {
    for (;;) {
      const [last] = (await this.#last(1)).messages;
      if (last === undefined) return undefined;
      // If another call has removed it meanwhile, this one removes the item before it.
      if (await this.#delete(idOf(last))) return toItems([last])[0];
    }
  }

  /** Removes all items for good. The session stays, with its title and metadata. */
  async clearSession(): Promise<void> {
    await unlessMissing(() => this.#client.messages.truncateMessages({ sessionId: this.#sessionId, toStart: true }));
  }

  /**
   * Keeps what the responses of a run took, after `run` has returned or its stream has ended: the last message or call
   * of each response gets its usage. The SDK tells a session only items, so without this call they have none. A response
   * that has its usage already keeps it, so a repeated call changes nothing. What is not in the session, for example
   * because the run failed before it was added, is passed over.
   */
  async storeRunUsage(run: AgentRun): Promise<void> {
    const responses = spentResponses(run);
    let seen = 0;
    await unlessMissing(async () => {
      const newest = this.#client.history(this.#sessionId, { newestFirst: true, pageSize: 100 });
      for await (const message of newest) {
        seen += 1;
        if (responses.length === 0 || seen > MOST_OF_RUN) return;
        const key = keyOf(toItems([message])[0]);
        const place = responses.findIndex(({ keys }) => key !== undefined && keys.includes(key));
        if (place < 0) continue;
        // Responses after this one are not in the session.
        const [response] = responses.splice(0, place + 1).slice(-1);
        if (response === undefined || message.info?.usage !== undefined) continue;
        const request = {
          sessionId: this.#sessionId,
          messageId: idOf(message),
          message: withUsage({}, response.usage),
        };
        await unlessMissing(() =>
          this.#client.messages.updateMessage({ ...request, updateMask: { paths: ["info.usage"] } }),
        );
      }
    });
  }

  /** Gives calls new content. Of several calls with the same id, the first is replaced and the others are removed. */
  async applyHistoryMutations({ mutations }: SessionHistoryRewriteArgs): Promise<void> {
    for (const { callId, replacement } of mutations) {
      const { messages } = await this.#last();
      const items = toItems(messages);
      const [first, ...others] = messages.filter((_message, i) => isCall(items[i], callId));
      if (first === undefined) continue;
      const [{ info, parts } = {}] = await this.#keep([toMessage(replacement, idOf(first))]);
      await this.#client.messages.updateMessage({
        sessionId: this.#sessionId,
        messageId: idOf(first),
        message: { ...(info && { info }), ...(parts && { parts }) },
        updateMask: { paths: ["parts", "info.metadata"] },
      });
      for (const other of others) await this.#delete(idOf(other));
    }
  }

  /**
   * Adds items, or puts others in place of the last ones, once for each operation id. In a transaction of up to 1,000
   * items and 7 MiB, this is all or nothing for whoever reads by this class. Error: the history does not end with what
   * the transaction expects, or another transaction had the operation id; nothing has changed then.
   */
  async applyHistoryTransaction(args: SessionHistoryTransactionArgs): Promise<void> {
    const prepared = await prepareTransaction(args);
    const replaced = await this.#begin(prepared);
    for (const messageId of replaced) await this.#delete(messageId);
  }

  /** Stores a transaction, unless it is stored already, and returns the ids of what it replaces. */
  async #begin(prepared: PreparedTransaction): Promise<readonly string[]> {
    const { expectedSuffix } = prepared;
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const applied = await this.#replacedBy(prepared);
      if (applied !== undefined) return applied;
      const last = expectedSuffix === undefined ? undefined : await this.#last(expectedSuffix.length);
      if (last !== undefined && !isExpected(last.messages, expectedSuffix ?? [])) {
        const appliedMeanwhile = await this.#replacedBy(prepared);
        if (appliedMeanwhile !== undefined) return appliedMeanwhile;
        throw new Error("The history's suffix no longer matches the transaction");
      }
      const replaced = (last?.messages ?? []).map(idOf);
      try {
        await this.#append([markerOf(prepared, replaced), ...(await this.#keep(prepared.messages))], last?.end);
        return replaced;
      } catch (error) {
        // Others have added messages, or applied the same operation.
        if (!hasCode(error, Code.Aborted) && !hasCode(error, Code.AlreadyExists)) throw error;
      }
    }
    throw new Error("The session changes too fast to apply a transaction to it");
  }

  /** The ids of what the stored transaction replaces; undefined when it is not stored. */
  async #replacedBy({ markerId, digest, messages }: PreparedTransaction): Promise<readonly string[] | undefined> {
    const stored = await unlessMissing(() =>
      this.#client.messages.getMessage({ sessionId: this.#sessionId, messageId: markerId }),
    );
    if (stored === undefined) return undefined;
    this.#wasSeen = true;
    const marker = readMarker(stored);
    if (marker?.digest !== digest) throw new Error("The operation was already applied with a different transaction");
    // An attempt that ended early may have stored the first of several steps only.
    const kept = await this.#keep(messages);
    const steps = batchesOf([markerOf({ markerId, digest, messages, expectedSuffix: [] }, marker.replaces), ...kept]);
    if (steps.length > 1) await this.#append(steps.slice(1).flat());
    return marker.replaces;
  }

  /** The last `limit` messages that are items, or all, oldest first, and the position at which the session ends. */
  async #last(limit?: number): Promise<{ readonly messages: readonly StoredMessage[]; readonly end: number }> {
    const messages: StoredMessage[] = [];
    const gone = new Set<string>();
    let end: number | undefined;
    await unlessMissing(async () => {
      // A marker, and what its transaction has replaced, may stand between the items.
      const pageSize = Math.min((limit ?? PAGE_SIZE) + 1, PAGE_SIZE);
      for await (const message of this.#client.history(this.#sessionId, { newestFirst: true, pageSize })) {
        end ??= (message.info?.position ?? 0) + 1;
        if (messages.length === limit) break;
        const marker = readMarker(message);
        for (const id of marker?.replaces ?? []) gone.add(id);
        if (marker === undefined && !gone.has(idOf(message))) messages.push(message);
      }
      this.#wasSeen = true;
    });
    return { messages: await restored(this.#client, this.#sessionId, messages.reverse()), end: end ?? 0 };
  }

  /** Uploads what is too large for a message. Makes the session for that if it is missing. */
  async #keep(messages: readonly NewMessage[]): Promise<NewMessage[]> {
    const kept: NewMessage[] = [];
    for (const message of messages) {
      const options = { fit: fittedToReadable, createSession: !this.#wasSeen };
      kept.push(await keep(this.#client, this.#sessionId, message, options));
    }
    return kept;
  }

  async #append(messages: readonly NewMessage[], expectedPosition?: number): Promise<void> {
    const [first, ...rest] = batchesOf(messages);
    if (first === undefined) return;
    const position = expectedPosition === undefined ? {} : { expectedPosition };
    await this.#client.append(this.#sessionId, first, { createSession: !this.#wasSeen, ...position });
    this.#wasSeen = true;
    for (const batch of rest) await this.#client.append(this.#sessionId, batch);
  }

  /** Resolves to false when the message was not there. */
  async #delete(messageId: string): Promise<boolean> {
    const request = { sessionId: this.#sessionId, messageId };
    return (await unlessMissing(() => this.#client.messages.deleteMessage(request))) !== undefined;
  }
}

function idOf({ info }: StoredMessage): string {
  return info?.id ?? "";
}

function isCall(item: AgentInputItem | undefined, callId: string): boolean {
  return item?.type === "function_call" && item.callId === callId;
}
