// `session-pool-client/adapters/ai-sdk`: keeps the UIMessages of the Vercel AI SDK (`ai` 6 and 7), and its streams.
import type { UIMessage } from "ai";
import { Code, type NewMessage, type SessionPoolClient, type StoredMessage } from "../index.js";
import { attached } from "./attached.js";
import { batchesOf } from "./batches.js";
import { keep } from "./keep.js";
import { hasCode, unlessMissing } from "./missing.js";
import { listedIds, restored } from "./restored.js";
import { changedMeanwhile, idOf, isErased, planSave, type SavePlan } from "./save-plan.js";
import { deletedSince, forget, hasMet, lastMet, lastSeen, meet, note, seenWith } from "./seen.js";
import { withEndedCalls } from "./ui-calls.js";
import { fittedUIMessage, fromUIMessage, haveSameContent, isSame, toUIMessage } from "./ui-message.js";
import { spentSteps, type UIRun } from "./ui-usage.js";
import { SavedUsages } from "./ui-usages.js";
import { withUsage } from "./usage.js";

export { resumeUIMessageStream } from "./ui-resume.js";
export { type KeepOptions, keepUIMessageStream } from "./ui-stream.js";
export type { UIRun } from "./ui-usage.js";

export interface SaveOptions {
  /**
   * The messages that the caller has loaded. Those of them that it does not save again are removed. Only needed when
   * the messages to save are all new objects, as when a page sends them: an object that `loadUIMessages` returned, or
   * that was saved before, already says what was loaded with it. When no messages are saved, the default is what this
   * process has loaded or saved last.
   */
  readonly loaded?: readonly Pick<UIMessage, "id">[];
  /**
   * What `streamText`, `generateText` or the agent has returned that wrote the last message of the assistant. The usage
   * of that message is what its steps took, added to what an earlier run took that began the message. Without it, the
   * usage of a new message is what its metadata says, if it says so in a known form.
   */
  readonly run?: UIRun;
}

export interface LoadOptions<Message extends UIMessage> {
  /**
   * The message that the page has sent. It comes after the loaded messages. If one of them has its id, for example
   * because the user has approved its tool call, it replaces that one, and later messages are not loaded. They stay
   * when the loaded ones are saved.
   */
  readonly next?: Message;
}

/** How often a save is planned when others append messages meanwhile. */
const MOST_ATTEMPTS = 10;

/**
 * The messages of a chat, oldest first, for `useChat({ messages })`; none when the session is missing. They can be sent
 * to a model: tool calls that were interrupted, or that a later message has overtaken, end with an error.
 */
export async function loadUIMessages<Message extends UIMessage = UIMessage>(
  client: SessionPoolClient,
  sessionId: string,
  { next }: LoadOptions<Message> = {},
): Promise<Message[]> {
  const stored = await readAll(client, sessionId);
  if (stored === undefined) forget(client, sessionId);
  else if (stored.length > 0)
    meet(
      client,
      sessionId,
      stored.map((message) => ({ id: idOf(message) })),
    );
  const replaced = stored?.findIndex((message) => idOf(message) === next?.id) ?? -1;
  const shown = replaced < 0 ? stored : stored?.slice(0, replaced + 1);
  const read = await restored(client, sessionId, shown ?? []);
  const messages = read.map((message) => toUIMessage<Message>(message));
  const isFollowed = next !== undefined && replaced < 0;
  for (const message of isFollowed ? messages : messages.slice(0, -1)) message.parts = withEndedCalls(message.parts);
  const given = messages.map(fromUIMessage);
  if (next !== undefined && !isFollowed) messages[replaced] = next;
  note(sessionId, messages, given, shown);
  return isFollowed ? [...messages, next] : messages;
}

/**
 * Makes the session hold these messages. Use it as
 * `onFinish: ({ messages }) => saveUIMessages(client, chatId, messages)`.
 *
 * New messages are appended at the end, up to 1,000 messages and 7 MiB together. A message that has grown, for example
 * by the result of a tool, gets its new content. Messages that the caller has loaded and no longer gives, as after a
 * regeneration, are removed. What it has not seen stays: other messages, other programs' changes of messages that it
 * has not changed, and erased messages. Saving the same messages again changes nothing. The first save makes the
 * session.
 *
 * `aborted`: others have changed what this save would change, or have saved the same answer; load the messages again.
 * `not_found`: the session was deleted after this process has loaded it or saved in it.
 */
export async function saveUIMessages(
  client: SessionPoolClient,
  sessionId: string,
  messages: readonly UIMessage[],
  { loaded = [], run }: SaveOptions = {},
): Promise<void> {
  const wanted = messages.map(fromUIMessage);
  const usages = new SavedUsages(sessionId, messages, await spentSteps(run));
  const seen = messages.length > 0 ? seenWith(sessionId, messages) : new Set(lastMet(client, sessionId));
  for (const { id } of loaded) seen.add(id);
  const isNew = seen.size === 0 && !hasMet(client, sessionId);
  let forms: Map<string, NewMessage | StoredMessage>;
  for (let attempt = 1; ; attempt++) {
    const stored = await readAll(client, sessionId);
    if (stored === undefined && !isNew) throw deletedSince(sessionId);
    const plan = planSave(stored ?? [], wanted, seen);
    forms = new Map();
    const updates = await updatesOf(client, sessionId, plan, messages, usages, forms);
    const isMissing = stored === undefined;
    const added: NewMessage[] = [];
    for (const message of plan.added) {
      const kept = await keep(client, sessionId, message, { fit: fittedUIMessage, createSession: isMissing });
      const moved = stored?.find((one) => idOf(one) === idOf(message));
      added.push(withUsage(kept, usages.ofAdded(message, moved)));
      forms.set(idOf(message), kept);
    }
    try {
      await remove(client, sessionId, plan);
      for (const one of updates) await update(client, sessionId, one);
      await appendAll(client, sessionId, { ...plan, added }, isMissing, seen);
      break;
    } catch (error) {
      // Others have appended meanwhile. Their messages stay, and the rest goes after them.
      if (!hasCode(error, Code.Aborted) || attempt === MOST_ATTEMPTS) throw error;
    }
  }
  usages.noteAll();
  if (messages.length > 0) meet(client, sessionId, messages);
  note(
    sessionId,
    messages,
    wanted,
    wanted.map((message) => forms.get(idOf(message)) ?? message),
  );
}

/** Undefined when the session is missing. */
async function readAll(client: SessionPoolClient, sessionId: string): Promise<StoredMessage[] | undefined> {
  return unlessMissing(async () => {
    const stored: StoredMessage[] = [];
    for await (const message of client.history(sessionId, { pageSize: 1000 })) stored.push(message);
    return stored;
  });
}

/** Reverts dropped messages at the end, unless a revert would also discard the drafts of others; deletes any others. */
async function remove(client: SessionPoolClient, sessionId: string, plan: SavePlan): Promise<void> {
  const { removed, isTail, keptId } = plan;
  if (removed.length === 0) return;
  if (isTail && (await client.messages.listDrafts({ sessionId })).drafts.length === 0) {
    const upTo = keptId === undefined ? { toStart: true } : { upToMessageId: keptId };
    await client.sessions.revertSession({ sessionId, ...upTo, expectedRemovedCount: removed.length });
  } else {
    for (const messageId of removed) await unlessMissing(() => client.messages.deleteMessage({ sessionId, messageId }));
  }
}

/** New content of a stored message, and the fields that are to be replaced. */
interface Update {
  readonly messageId: string;
  readonly message: NewMessage;
  readonly paths: readonly string[];
}

const CONTENT = ["parts", "info.metadata", "info.role"];
const USAGE = "info.usage";

/**
 * The changes of stored messages. `forms` gets each message as it will be stored, or of those that the caller has not
 * changed, what is stored as the caller has seen it. `aborted`: another program has changed one of them, too.
 */
async function updatesOf(
  client: SessionPoolClient,
  sessionId: string,
  { kept }: SavePlan,
  messages: readonly UIMessage[],
  usages: SavedUsages,
  forms: Map<string, NewMessage | StoredMessage>,
): Promise<Update[]> {
  const updates: Update[] = [];
  for (const [i, { message, stored }] of kept.entries()) {
    const before = lastSeen(sessionId, messages[i] as UIMessage);
    const isUnchanged = before !== undefined && isSame(message, before.given);
    forms.set(idOf(stored), isUnchanged ? before.stored : stored);
    if (isErased(stored)) continue;
    if (isUnchanged || (await isStored(client, sessionId, message, stored))) {
      const usage = usages.ofUnchanged(stored);
      if (usage !== undefined) updates.push({ messageId: idOf(stored), message: withUsage({}, usage), paths: [USAGE] });
      continue;
    }
    if (before !== undefined && !isSame(fromUIMessage(toUIMessage(stored)), before.stored)) throw changedMeanwhile();
    const form = await keep(client, sessionId, message, { fit: fittedUIMessage, known: listedIds(stored) });
    forms.set(idOf(message), form);
    const usage = usages.ofChanged(message, stored);
    const paths = usage === undefined ? CONTENT : [...CONTENT, USAGE];
    updates.push({ messageId: idOf(stored), message: withUsage(form, usage), paths });
  }
  return updates;
}

/** Whether a message is stored with this content, in any of the forms that it may have. */
async function isStored(
  client: SessionPoolClient,
  sessionId: string,
  message: NewMessage,
  stored: StoredMessage,
): Promise<boolean> {
  const isCut = stored.info?.metadata?.truncated !== undefined;
  if (isSame(isCut ? fittedUIMessage(message) : message, stored)) return true;
  if (listedIds(stored).size === 0) return false;
  if (haveSameContent(fittedUIMessage((await attached(message)).message), stored)) return true;
  const [whole] = await restored(client, sessionId, [stored]);
  return whole !== undefined && isSame(message, whole);
}

async function update(
  client: SessionPoolClient,
  sessionId: string,
  { messageId, message, paths }: Update,
): Promise<void> {
  try {
    await client.messages.updateMessage({ sessionId, messageId, message, updateMask: { paths: [...paths] } });
  } catch (error) {
    const others = paths.filter((path) => path !== USAGE);
    // A server of an earlier version knows no usage, which must not cost the content.
    if (!hasCode(error, Code.InvalidArgument) || others.length === paths.length) throw error;
    if (others.length > 0) await update(client, sessionId, { messageId, message, paths: others });
  }
}

/** Appends messages in as few calls as possible, and adds them to those that were seen. */
async function appendAll(
  client: SessionPoolClient,
  sessionId: string,
  { added, position }: SavePlan,
  createSession: boolean,
  seen: Set<string>,
): Promise<void> {
  let expectedPosition = position;
  for (const batch of batchesOf(added)) {
    await client.append(sessionId, batch, { createSession, expectedPosition });
    expectedPosition += batch.length;
    for (const message of batch) seen.add(idOf(message));
  }
}
