import { create, type DescMessage, type Message } from "@bufbuild/protobuf";
import {
  MessageWithPartsSchema,
  WatchMessagesRequestSchema,
  WatchMessagesResponseSchema,
} from "../../gen/sessionpool/v1/message_service_pb.js";
import {
  DeleteSessionRequestSchema,
  GetSessionRequestSchema,
  ListSessionsRequestSchema,
  LoadSessionRequestSchema,
  SessionSchema,
  UndeleteSessionRequestSchema,
} from "../../gen/sessionpool/v1/session_service_pb.js";
import { messageMethods } from "../api/message-service.js";
import type { ApiContext } from "../api/method-table.js";
import { sessionMethods } from "../api/session-service.js";
import { toTimestamp } from "../api/timestamps.js";
import { jsonMessageWriter } from "../codec/json-writer.js";
import { readUndelete } from "../config/retention-flags.js";
import { textOf } from "../domain/byte-string.js";
import { onOneLine } from "../domain/json.js";
import { DEFAULT_LIMITS } from "../domain/limits.js";
import { print, printAndDrain } from "./print.js";
import { eventText, messageText, sessionLine, sessionText } from "./session-text.js";
import { stopSignal } from "./signals.js";
import { watchStore } from "./watchdog.js";
import { type CommandTarget, withPools } from "./with-pools.js";

export interface SessionsTarget extends CommandTarget {
  /** Prints one JSON object a line, as REST returns it, instead of readable text. */
  readonly json: boolean;
  /** For how many days sessions that it deletes can be brought back; 0 when absent. */
  readonly undeleteDays?: number | undefined;
}

/** The page size of lists that the command reads through. */
const PAGE = 1000;

const sessionJson = lineWriter(SessionSchema);
const messageJson = lineWriter(MessageWithPartsSchema);
const eventJson = lineWriter(WatchMessagesResponseSchema);

function lineWriter(desc: DescMessage): (message: Message) => string {
  const write = jsonMessageWriter(desc);
  return (message) => onOneLine(textOf(write(message)));
}

/** Which sessions to print. */
export interface ListOptions {
  readonly limit?: number | undefined;
  readonly parent?: string | undefined;
  readonly label?: readonly string[] | undefined;
  /** Empty for sessions without an owner. */
  readonly owner?: string | undefined;
  /** As in ListSessions. */
  readonly orderBy?: string | undefined;
  /** Words that the title must have. */
  readonly title?: string | undefined;
  /** Microseconds since 1970. */
  readonly updatedSince?: number | undefined;
  readonly updatedUntil?: number | undefined;
  /** Only deleted sessions that can be brought back. */
  readonly deleted?: boolean | undefined;
}

/** Prints the first sessions of a list, or all of them without a limit. */
export function listSessions(
  target: SessionsTarget,
  { limit = Number.POSITIVE_INFINITY, parent = "", label = [], owner, deleted = false, ...asked }: ListOptions,
): Promise<void> {
  return withApi(target, async (context) => {
    const { orderBy = "", title = "", updatedSince, updatedUntil } = asked;
    const whose = { owner: owner ?? "", noOwner: owner === "" };
    const times = {
      ...(updatedSince !== undefined && { updatedSince: toTimestamp(updatedSince) }),
      ...(updatedUntil !== undefined && { updatedUntil: toTimestamp(updatedUntil) }),
    };
    const filter = { parentId: parent, label: [...label], ...whose, deleted, orderBy, title, ...times };
    let left = limit;
    let pageToken = "";
    do {
      const request = create(ListSessionsRequestSchema, { ...filter, limit: Math.min(left, PAGE), pageToken });
      const page = await sessionMethods.listSessions.handle(request, context);
      for (const session of page.sessions) print(target.json ? sessionJson(session) : sessionLine(session));
      left -= page.sessions.length;
      pageToken = page.nextPageToken;
    } while (pageToken !== "" && left > 0);
  });
}

/** Prints a session and its last messages, oldest first. */
export function showSession(
  target: SessionsTarget,
  sessionId: string,
  { limit }: { readonly limit: number },
): Promise<void> {
  return withApi(target, async (context) => {
    const request = create(LoadSessionRequestSchema, { sessionId, limit });
    const { session, messages } = await sessionMethods.loadSession.handle(request, context);
    print(target.json ? sessionJson(session!) : sessionText(session!));
    for (const message of messages) print(target.json ? messageJson(message) : messageText(message));
  });
}

/** Prints the last messages of a session and watches it until the process is told to end or the session is deleted. */
export function tailSession(
  target: SessionsTarget,
  sessionId: string,
  { limit }: { readonly limit: number },
): Promise<void> {
  return withApi(target, async (context) => {
    const stopped = new AbortController();
    watchStore({ storage: target.storage, shutdownMs: 0 });
    stopSignal().then(() => stopped.abort());
    const { messageCount = 0n } = await sessionMethods.getSession.handle(
      create(GetSessionRequestSchema, { sessionId }),
      context,
    );
    const fromPosition = messageCount > limit ? messageCount - BigInt(limit) : 0n;
    const request = create(WatchMessagesRequestSchema, { sessionId, fromPosition });
    try {
      const events = await messageMethods.watchMessages.handle(request, { ...context, signal: stopped.signal });
      for await (const event of events) {
        if (event.event.case === "heartbeat") continue;
        await printAndDrain(target.json ? eventJson(event) : eventText(event), stopped.signal);
      }
    } catch (error) {
      if (!stopped.signal.aborted) throw error;
    }
  });
}

/** Deletes sessions one after another, and prints the id of each. */
export function deleteSessions(target: SessionsTarget, sessionIds: readonly string[]): Promise<void> {
  return withApi(target, async (context) => {
    for (const sessionId of sessionIds) {
      const deleting = sessionMethods.deleteSession.handle(create(DeleteSessionRequestSchema, { sessionId }), context);
      await (target.audit?.step({ sessionId }, deleting) ?? deleting);
      print(target.json ? JSON.stringify({ sessionId }) : `Deleted ${JSON.stringify(sessionId)}`);
    }
  });
}

/** Brings back a deleted session, and prints its id. */
export function undeleteSession(target: SessionsTarget, sessionId: string): Promise<void> {
  return withApi(target, async (context) => {
    const request = create(UndeleteSessionRequestSchema, { sessionId });
    const session = await sessionMethods.undeleteSession.handle(request, context);
    print(target.json ? sessionJson(session) : `Brought back ${JSON.stringify(sessionId)}`);
  });
}

/** Commands call the same methods as the fronts, so that they behave the same. */
function withApi(
  { storage, namespace, limits = DEFAULT_LIMITS, undeleteDays = 0 }: SessionsTarget,
  run: (context: ApiContext) => Promise<void>,
): Promise<void> {
  const options = { limits, undeleteMs: readUndelete(undeleteDays) };
  return withPools(storage, (pools) => run({ namespace, rootPool: pools.for(namespace), limits }), options);
}
