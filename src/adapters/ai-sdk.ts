// `session-pool/adapters/ai-sdk`: keeps the UIMessages of the Vercel AI SDK (`ai` 6), and its streams.
import { create, equals } from "@bufbuild/protobuf";
import type { UIMessage } from "ai";
import { MessageWithPartsSchema } from "../../gen/sessionpool/v1/message_service_pb.js";
import { Code, ConnectError, type NewMessage, type SessionPoolClient, type StoredMessage } from "../client/index.js";
import { batchesOf } from "./batches.js";
import { unlessMissing } from "./missing.js";
import { fromUIMessage, toUIMessage, unlessEmpty } from "./ui-message.js";

export { type KeepOptions, keepUIMessageStream, resumeUIMessageStream } from "./ui-stream.js";

/**
 * The messages of a chat, oldest first, for `useChat({ messages })`; none when the session is missing. TypeError: the
 * AI SDK has no form for a message.
 */
export async function loadUIMessages<Message extends UIMessage = UIMessage>(
  client: SessionPoolClient,
  sessionId: string,
): Promise<Message[]> {
  const messages: Message[] = [];
  await unlessMissing(async () => {
    for await (const message of client.history(sessionId, { pageSize: 1000 }))
      messages.push(toUIMessage<Message>(message));
  });
  return messages;
}

/**
 * Makes the session hold exactly these messages. Use it as
 * `onFinish: ({ messages }) => saveUIMessages(client, chatId, messages)`.
 *
 * The first new message is appended by itself and the others together, up to 1,000 messages and 7 MiB; more are
 * appended in several steps. A message that has grown, for example by the result of a tool, gets its new content.
 * Messages that a regeneration has dropped are reverted. Saving the same messages again changes nothing. A missing
 * session is made. If another program appends another message meanwhile, the call fails with `aborted` and appends
 * nothing after it.
 */
export async function saveUIMessages(
  client: SessionPoolClient,
  sessionId: string,
  messages: readonly UIMessage[],
): Promise<void> {
  const wanted = messages.map(fromUIMessage);
  const stored: StoredMessage[] = [];
  await unlessMissing(async () => {
    for await (const message of client.history(sessionId, { pageSize: 1000 })) stored.push(message);
  });
  const firstOther = wanted.findIndex((message, i) => message.info?.id !== stored[i]?.info?.id);
  const kept = firstOther < 0 ? wanted.length : firstOther;
  if (stored.length > kept) await cutAfter(client, sessionId, wanted[kept - 1], stored.length - kept);
  for (let i = 0; i < kept; i++) {
    const message = wanted[i] as NewMessage;
    if (!isSame(message, stored[i] as StoredMessage)) await update(client, sessionId, message);
  }
  await appendAll(client, sessionId, wanted.slice(kept), kept);
}

/**
 * Appends messages in as few calls as possible. The first one goes alone: another program may save it at the same
 * moment, with other messages after it, and a batch that begins with a known message ignores the expected position.
 */
async function appendAll(client: SessionPoolClient, sessionId: string, added: readonly NewMessage[], position: number) {
  let expectedPosition = position;
  for (const batch of [...batchesOf(added.slice(0, 1)), ...batchesOf(added.slice(1))]) {
    await client.append(sessionId, batch, { createSession: true, expectedPosition });
    expectedPosition += batch.length;
  }
}

/** Reverts `count` messages. If there were more, because another program has appended some, they are brought back. */
async function cutAfter(
  client: SessionPoolClient,
  sessionId: string,
  last: NewMessage | undefined,
  count: number,
): Promise<void> {
  const upTo = last === undefined ? { toStart: true } : { upToMessageId: last.info?.id ?? "" };
  const { removedCount } = await client.sessions.revertSession({ sessionId, ...upTo });
  if (removedCount <= count) return;
  await client.sessions.unrevertSession({ sessionId });
  throw new ConnectError(`Another program has appended messages to session ${JSON.stringify(sessionId)}`, Code.Aborted);
}

async function update(client: SessionPoolClient, sessionId: string, message: NewMessage): Promise<void> {
  const messageId = message.info?.id ?? "";
  await client.messages.updateMessage({
    sessionId,
    messageId,
    message,
    updateMask: { paths: ["parts", "info.metadata", "info.role"] },
  });
}

/** Whether role, metadata and parts are equal, whatever the order of keys. */
function isSame(message: NewMessage, { info, parts }: StoredMessage): boolean {
  const { id = "", role = "", metadata } = info ?? {};
  const stored = { info: { id, role, ...unlessEmpty(metadata) }, parts };
  return equals(
    MessageWithPartsSchema,
    create(MessageWithPartsSchema, message as object),
    create(MessageWithPartsSchema, stored as object),
  );
}
