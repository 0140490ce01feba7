import { checkCall } from "../domain/call.js";
import type { ChatMessage } from "../domain/chat-message.js";
import { invalidArgument, NotImplementedError } from "../domain/errors.js";
import type { Limits } from "../domain/limits.js";
import type { MessageQuery } from "../domain/page.js";
import { checkMessageQuery, checkOffset, pageLimit } from "../domain/validate-page.js";
import type { StorageManager } from "../storage/storage-manager.js";
import type { GetMessagesOptions, ListMessagesOptions } from "../storage/storage-provider.js";
import type { PoolLogger } from "./pool-context.js";

/** Asks the provider; if the provider lacks the operation, computes the answer from other reads. */
export async function unlessLacking<T>(ask: () => Promise<T>, compute: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof NotImplementedError) return await compute();
    throw error;
  }
}

/** Checks the options that getMessages and listMessages share. */
export function checkReadOptions(
  options: GetMessagesOptions & MessageQuery & Pick<ListMessagesOptions, "cursor">,
  limits: Limits,
): void {
  pageLimit(options.limit, limits);
  checkOffset(options.offset);
  checkMessageQuery(options);
  if (options.offset !== undefined && options.cursor !== undefined) {
    throw invalidArgument("offset and cursor exclude each other");
  }
}

/**
 * Reads messages from a provider that may support neither `limit` nor `offset`: the fallback rule of docs/spec.md, see
 * docs/decisions/0005-partial-providers.md.
 */
export async function readMessages(
  storage: StorageManager,
  sessionId: string,
  options: GetMessagesOptions,
  logger: PoolLogger,
): Promise<readonly ChatMessage[]> {
  const { limit, offset } = options;
  const answer = await ask(storage, sessionId, options, logger);
  if (offset === undefined) return lastOf(answer.messages, limit);
  if (!answer.unlimited && skipped(answer.messages, offset)) return answer.messages.slice(0, limit);
  const all = answer.unlimited ? answer.messages : await storage.getSessionMessages(sessionId, unlimited(options));
  return all.slice(offset, limit === undefined ? undefined : offset + limit);
}

interface Answer {
  readonly messages: readonly ChatMessage[];
  /** Whether the provider was asked for all messages, without limit and offset. */
  readonly unlimited: boolean;
}

async function ask(
  storage: StorageManager,
  sessionId: string,
  options: GetMessagesOptions,
  logger: PoolLogger,
): Promise<Answer> {
  try {
    return { messages: await storage.getSessionMessages(sessionId, options), unlimited: false };
  } catch (error) {
    if (!(error instanceof NotImplementedError || error instanceof TypeError)) throw error;
    const messages = await storage.getSessionMessages(sessionId, unlimited(options));
    checkCall(options);
    if (error instanceof TypeError) {
      logger.warn({ err: error, sessionId }, "The storage provider failed with a limit and answered without one");
    }
    return { messages, unlimited: true };
  }
}

/**
 * Keeps only the options that change which messages the caller gets, for providers that support no others; undefined
 * when there is nothing to pass.
 */
function unlimited({ includeAncestors, access }: GetMessagesOptions): GetMessagesOptions | undefined {
  if (includeAncestors !== true && access === undefined) return undefined;
  return { ...(includeAncestors === true && { includeAncestors }), ...(access !== undefined && { access }) };
}

/**
 * A provider written in JavaScript may silently ignore `offset`. Only the position of the first message proves that
 * earlier ones were skipped.
 */
function skipped(messages: readonly ChatMessage[], offset: number): boolean {
  const [first] = messages;
  return first === undefined || first.position === offset;
}

function lastOf(messages: readonly ChatMessage[], limit: number | undefined): readonly ChatMessage[] {
  return limit === undefined || messages.length <= limit ? messages : messages.slice(messages.length - limit);
}
