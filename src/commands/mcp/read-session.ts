import { DomainError } from "../../domain/errors.js";
import type { CallRpc } from "./call-rpc.js";
import { BEGINNING, cutDocument, type Json, type Place, placeOf } from "./cut-document.js";
import { decodeToken, encodeToken, isOwnToken, refusedToken } from "./own-token.js";
import { ENVELOPE_BYTES, sentBytes } from "./sent-bytes.js";

export interface ReadSession {
  readonly sessionId: string;
  /** Reads this message alone. */
  readonly messageId?: string | undefined;
  readonly limit: number;
  readonly maxBytes: number;
  readonly pageToken?: string | undefined;
}

/** The fields of the answer that are neither session nor message. */
const FRAME_BYTES = 2048;
const NOTE = "Cut to maxBytes. To go on, call read_session again with nextPageToken as pageToken.";

/** Where a page begins. The service's own token is where its older messages begin. */
type Start =
  | { readonly in: "session"; readonly at: Place }
  | { readonly in: "draft"; readonly id: string; readonly at: Place }
  | { readonly in: "message"; readonly id: string; readonly at: Place; readonly next: string }
  | { readonly in: "messages"; readonly token: string };

/** A draft or a message, and the tokens with which a page goes on at a place of it. */
interface Item {
  readonly list: "drafts" | "messages";
  readonly document: Json;
  readonly at: Place;
  tokenAt(at: Place): string;
}

/**
 * Reads a session from its end: the session, its drafts, and its messages from the newest on. The answer takes at most
 * `maxBytes` as it is sent. What does not fit in one answer alone is given in pieces (see cutDocument), and each answer
 * has a `nextPageToken` that continues exactly where it ends.
 */
export async function readSession(call: CallRpc, options: ReadSession): Promise<Json> {
  const { sessionId, limit, pageToken = "" } = options;
  const mostBytes = options.maxBytes - ENVELOPE_BYTES;
  const start = startOf(options);
  if (start.in === "messages" || pageToken === "") {
    const token = start.in === "messages" ? start.token : "";
    const whole = options.messageId === undefined ? await load(call, sessionId, limit, token) : undefined;
    if (whole !== undefined && sentBytes(JSON.stringify(whole)) <= mostBytes) return whole;
  }
  const answer = await readPieces(call, start, { ...options, maxBytes: mostBytes });
  if (sentBytes(JSON.stringify(answer)) <= mostBytes) return answer;
  throw new DomainError(
    "resource_exhausted",
    `The ids and names of this session need more than ${options.maxBytes} bytes`,
  );
}

async function readPieces(call: CallRpc, start: Start, { sessionId, limit, maxBytes }: ReadSession): Promise<Json> {
  const { session } = (await load(call, sessionId, 1, "")) as { session: Json };
  const page = { session: { sessionId } as Json, messages: [] as Json[], nextPageToken: "", drafts: [] as Json[] };
  const answer = (nextPageToken: string): Json => {
    page.messages.reverse();
    return { ...page, nextPageToken, ...(nextPageToken !== "" && { note: NOTE }) };
  };
  const size = sentBytes(JSON.stringify(session));
  let left = maxBytes - FRAME_BYTES;
  if (start.in !== "session" ? size <= left / 4 : size <= left / 2) {
    page.session = session;
    left -= size;
  } else if (start.in === "session") {
    const { piece, next } = cutDocument(session, start.at, left);
    page.session = { ...page.session, ...piece };
    return answer(
      encodeStart(next === undefined ? { in: "draft", id: "", at: BEGINNING } : { in: "session", at: next }),
    );
  }
  let isEmpty = true;
  for await (const { list, document, at, tokenAt } of itemsFrom(call, sessionId, start)) {
    const bytes = sentBytes(JSON.stringify(document)) + 1;
    const isWhole = at === BEGINNING && bytes <= left;
    if (page.messages.length >= limit || (!isWhole && !isEmpty)) return answer(tokenAt(at));
    isEmpty = false;
    const { piece, next } = isWhole ? { piece: document } : cutDocument(document, at, left);
    page[list].push(piece);
    if (next !== undefined) return answer(tokenAt(next));
    left -= sentBytes(JSON.stringify(piece)) + 1;
  }
  return answer("");
}

/** What follows a place: the drafts, which go on at the first one if theirs has ended, and the messages. */
async function* itemsFrom(call: CallRpc, sessionId: string, start: Start): AsyncGenerator<Item> {
  if (start.in === "session" || start.in === "draft") {
    const { drafts } = (await call("MessageService.ListDrafts", { sessionId })) as { drafts: Json[] };
    const idOf = (draft: Json) => String((draft.message as { info: Json }).info.id);
    const first = start.in === "draft" ? drafts.findIndex((draft) => idOf(draft) === start.id) : -1;
    for (const [i, document] of drafts.slice(Math.max(0, first)).entries()) {
      const at = start.in === "draft" && first >= 0 && i === 0 ? start.at : BEGINNING;
      yield { list: "drafts", document, at, tokenAt: (at) => encodeStart({ in: "draft", id: idOf(document), at }) };
    }
  }
  let token = start.in === "messages" ? start.token : "";
  if (start.in === "message") {
    const { id, at, next } = start;
    const document = await call("MessageService.GetMessage", { sessionId, messageId: id });
    yield { list: "messages", document, at, tokenAt: (at) => encodeStart({ in: "message", id, at, next }) };
    if (next === "") return;
    token = next;
  }
  do {
    // One at a time, because each has the token of what comes after it.
    const page = await load(call, sessionId, 1, token);
    const { messages, nextPageToken: next } = page as { messages: { info: Json }[]; nextPageToken: string };
    const before = token;
    for (const message of messages) {
      const id = String(message.info.id);
      const tokenAt = (at: Place) =>
        encodeStart(at === BEGINNING ? { in: "messages", token: before } : { in: "message", id, at, next });
      yield { list: "messages", document: message as unknown as Json, at: BEGINNING, tokenAt };
    }
    token = next;
  } while (token !== "");
}

function load(call: CallRpc, sessionId: string, limit: number, pageToken: string): Promise<Json> {
  return call("SessionService.LoadSession", { sessionId, limit, pageToken });
}

function startOf({ messageId, pageToken = "" }: ReadSession): Start {
  if (isOwnToken(pageToken)) return decodeStart(pageToken);
  if (pageToken !== "") return { in: "messages", token: pageToken };
  return messageId === undefined
    ? { in: "session", at: BEGINNING }
    : { in: "message", id: messageId, at: BEGINNING, next: "" };
}

function encodeStart(start: Start): string {
  if (start.in === "messages" && start.token !== "") return start.token;
  const { field, character } = "at" in start ? start.at : BEGINNING;
  const id = "id" in start ? start.id : "";
  return encodeToken([start.in, id, field, character, "next" in start ? start.next : ""]);
}

function decodeStart(token: string): Start {
  const [kind, id, field, character, next] = decodeToken(token, ["string", "string", "number", "number", "string"]) as [
    string,
    string,
    number,
    number,
    string,
  ];
  const at = placeOf(field, character);
  if (kind === "session") return { in: kind, at };
  if (kind === "draft") return { in: kind, id, at };
  if (kind === "message") return { in: kind, id, at, next };
  if (kind === "messages") return { in: kind, token: "" };
  throw refusedToken();
}
