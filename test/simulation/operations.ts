import type { Call } from "../../src/domain/call.js";
import type { ChatMessage, NewChatMessage } from "../../src/domain/chat-message.js";
import { DomainError } from "../../src/domain/errors.js";
import type { MessageCursor } from "../../src/domain/page.js";
import type { Session } from "../../src/domain/session.js";
import type { StorageProvider } from "../../src/storage/storage-provider.js";

/** A message that a client appends. When `ts` is null, the service stamps it. */
export interface SimMessage {
  readonly id: string;
  readonly ts: number | null;
  readonly body: string;
}

/** An operation that a client asks for, and the owner to whom the client is bound, if any. */
export type Operation = Asked & { readonly as?: string | undefined };

/** `id` is the session. */
type Asked =
  | { readonly op: "create"; readonly id: string; readonly parent: string | null; readonly title: string | null }
  | {
      readonly op: "append";
      readonly id: string;
      readonly messages: readonly SimMessage[];
      readonly expected: number | null;
    }
  | { readonly op: "session"; readonly id: string }
  /**
   * What `session` and `load` answer besides messages. It is an operation of its own, because a title changes without a
   * seal and so may be of another moment of the same call.
   */
  | { readonly op: "record"; readonly id: string }
  | { readonly op: "get"; readonly id: string; readonly mid: string }
  | { readonly op: "count"; readonly id: string }
  /** The session and its last messages, both of one moment. */
  | { readonly op: "load"; readonly id: string; readonly limit: number }
  | {
      readonly op: "list";
      readonly id: string;
      readonly newestFirst: boolean;
      readonly ancestors: boolean;
      readonly offset: number;
      readonly limit: number;
      readonly since?: number | undefined;
      readonly until?: number | undefined;
    }
  /** Continues the list with this number. */
  | {
      readonly op: "page";
      readonly id: string;
      readonly newestFirst: boolean;
      readonly limit: number;
      readonly after: number;
      readonly mid: string;
    }
  /** When `mid` is null, no message stays. */
  | { readonly op: "truncate"; readonly id: string; readonly mid: string | null }
  | { readonly op: "revert"; readonly id: string; readonly mid: string | null }
  | { readonly op: "restore"; readonly id: string }
  | {
      readonly op: "updateMessage";
      readonly id: string;
      readonly mid: string;
      readonly body: string;
      readonly expected: number | null;
    }
  | { readonly op: "deleteMessage"; readonly id: string; readonly mid: string; readonly expected: number | null }
  | { readonly op: "fork" | "share"; readonly id: string; readonly to: string; readonly mid: string | null }
  | { readonly op: "copy"; readonly id: string; readonly to: string; readonly mid: string | null }
  | { readonly op: "update"; readonly id: string; readonly title: string; readonly expected: number | null }
  /** Gives the session another owner. */
  | { readonly op: "give"; readonly id: string; readonly owner: string }
  | { readonly op: "delete"; readonly id: string };

/** Forks get this title. Runs do not check when a fork reads its source's title. */
const FORK_TITLE = "forked";

/** The outcome of an operation, in a form that can be compared as JSON. A refusal is `{ error: code }`. */
export type Outcome = unknown;

export interface Performed {
  readonly outcome: Outcome;
  /** For `session` and `load`: the answer that `record` would have had. */
  readonly record?: Outcome;
  /** For a list: the cursor of the next page. */
  readonly next?: MessageCursor | undefined;
}

/** Performs an operation. Any error but a DomainError is a bug and is thrown. */
export async function perform(
  provider: StorageProvider,
  operation: Operation,
  cursorOf: (list: number) => MessageCursor | undefined = () => undefined,
  call: Call = {},
): Promise<Performed> {
  const { as } = operation;
  const own = as === undefined ? call : { ...call, access: { owner: as } };
  try {
    return await performOrThrow(provider, operation, cursorOf, own);
  } catch (error) {
    return { outcome: refusalOf(error) };
  }
}

/** Returns the code of a refusal. Any other error is a bug and is thrown. */
function refusalOf(error: unknown): Outcome {
  if (error instanceof DomainError && error.code !== "internal" && error.code !== "unimplemented") {
    return { error: error.code };
  }
  throw error;
}

async function performOrThrow(
  provider: StorageProvider,
  operation: Operation,
  cursorOf: (list: number) => MessageCursor | undefined,
  call: Call,
): Promise<Performed> {
  const { id } = operation;
  switch (operation.op) {
    case "create": {
      const { parent, title } = operation;
      const given = { ...(parent === null ? {} : { parentId: parent }), ...(title === null ? {} : { title }) };
      const session = await provider.createSession({ sessionId: id, ...given }, call);
      return { outcome: shapeRecord(session) };
    }
    case "append": {
      const options = operation.expected === null ? call : { ...call, expectedPosition: operation.expected };
      const { messageIds, position } = await provider.logMessages(id, operation.messages.map(toNewMessage), options);
      return { outcome: { ids: messageIds, position } };
    }
    case "session": {
      const session = await provider.getSession(id, call);
      return { outcome: shapeSession(session), record: shapeRecord(session) };
    }
    case "record":
      return { outcome: shapeRecord(await provider.getSession(id, call)) };
    case "get": {
      const message = await provider.getMessage(id, operation.mid, call);
      return { outcome: message && shapeMessage(message) };
    }
    case "count":
      return { outcome: await provider.getMessageCount(id, call) };
    case "load": {
      const { session, messages, next } = await provider.loadSession(id, { ...call, limit: operation.limit });
      const outcome = { session: shapeSession(session), ...shapePage({ messages, next }) };
      return { outcome, record: shapeRecord(session) };
    }
    case "list": {
      const { newestFirst, ancestors, offset, limit, since, until } = operation;
      const page = await provider.listMessages(id, {
        ...call,
        newestFirst,
        includeAncestors: ancestors,
        offset,
        limit,
        sinceMicros: since,
        untilMicros: until,
      });
      return { outcome: shapePage(page), next: page.next };
    }
    case "page": {
      const { newestFirst, limit } = operation;
      const cursor = cursorOf(operation.after);
      const query = { newestFirst, includeAncestors: false };
      const page = await provider.listMessages(id, { ...call, ...query, limit, cursor });
      return { outcome: shapePage(page) };
    }
    case "truncate":
      return { outcome: { removed: await provider.truncateMessages(id, operation.mid, call) } };
    case "revert":
      return {
        outcome: { removed: await provider.truncateMessages(id, operation.mid, { ...call, keepForUnrevert: true }) },
      };
    case "updateMessage": {
      const { mid, body, expected } = operation;
      const change = { parts: [{ id: "", type: "text", text: body }] };
      return { outcome: shapeMessage(await provider.updateMessage(id, mid, change, expecting(expected, call))) };
    }
    case "deleteMessage":
      await provider.deleteMessage(id, operation.mid, expecting(operation.expected, call));
      return { outcome: {} };
    case "restore":
      return { outcome: { restored: await provider.restoreMessages(id, call) } };
    case "fork":
    case "share":
    case "copy": {
      const upTo = operation.mid === null ? {} : { upToMessageId: operation.mid };
      const result = await provider.forkConversation(id, operation.to, {
        ...call,
        as: operation.op,
        title: FORK_TITLE,
        ...upTo,
      });
      const { forkPointId: forkPoint, copiedCount: copied, session } = result;
      return { outcome: session ? { forkPoint, copied, session: shapeRecord(session) } : { forkPoint, copied } };
    }
    case "update": {
      const options = expecting(operation.expected, call);
      const session = await provider.updateSession(id, { title: operation.title }, options);
      return { outcome: { title: session.title, revision: session.revision } };
    }
    case "give": {
      const { owner = "", revision } = await provider.updateSession(id, { owner: operation.owner }, call);
      return { outcome: { owner, revision } };
    }
    case "delete":
      await provider.deleteSession(id, call);
      return { outcome: {} };
  }
}

function expecting(revision: number | null, call: Call) {
  return revision === null ? call : { ...call, expectedRevision: revision };
}

function toNewMessage({ id, ts, body }: SimMessage): NewChatMessage {
  const timestamp = ts === null ? {} : { timestampMicros: ts };
  return { id, role: "user", parts: [{ id: "", type: "text", text: body }], ...timestamp };
}

function shapeSession({ messageCount, reverted }: Session): unknown {
  return { count: messageCount, reverted };
}

function shapeRecord({ title, parentId, forkPointId, inheritedCount, revision }: Session): unknown {
  return { title, parent: parentId, forkPoint: forkPointId, inherited: inheritedCount, revision };
}

function shapePage(page: { messages: readonly ChatMessage[]; next?: MessageCursor | undefined }) {
  return { messages: page.messages.map(shapeMessage), more: page.next !== undefined };
}

function shapeMessage(message: ChatMessage): unknown {
  return {
    id: message.id,
    ts: message.timestampMicros,
    body: message.parts[0]?.text,
    origin: message.originSessionId,
    session: message.sessionId,
    position: message.position,
  };
}
