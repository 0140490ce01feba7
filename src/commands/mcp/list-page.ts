import { DomainError } from "../../domain/errors.js";
import type { CallRpc } from "./call-rpc.js";
import { cutDocument, type Json, placeOf } from "./cut-document.js";
import { decodeToken, encodeToken } from "./own-token.js";
import { ENVELOPE_BYTES, sentBytes } from "./sent-bytes.js";

/** The most bytes of an answer, as it is sent, if the caller names no other number. */
export const MOST_BYTES = 64 * 1024;
const FRAME_BYTES = 2048;
const NOTE = "Cut. To go on, call this tool again with nextPageToken as pageToken.";

/**
 * Reads a page of a list with as many items as fit in an answer. The metadata of a session that is too large for that
 * alone is left out.
 */
export async function readPage(call: CallRpc, rpc: string, request: Json, list: string): Promise<Json> {
  for (let page = await call(rpc, request); ; ) {
    const items = page[list] as Json[];
    const bytes = sentBytes(JSON.stringify(page)) + ENVELOPE_BYTES;
    if (bytes <= MOST_BYTES) return page;
    if (items.length <= 1) return withoutMetadata(page, list);
    const limit = Math.min(items.length - 1, Math.max(1, Math.floor((items.length * MOST_BYTES) / bytes)));
    page = await call(rpc, { ...request, limit });
  }
}

function withoutMetadata(page: Json, list: string): Json {
  const items = (page[list] as Json[]).map(({ metadata: _large, ...item }) => item);
  const answer = { ...page, [list]: items, note: "metadata is left out, because it is large: read_session gives it." };
  if (sentBytes(JSON.stringify(answer)) + ENVELOPE_BYTES <= MOST_BYTES) return answer;
  throw new DomainError("resource_exhausted", `An item of ${list} needs more than ${MOST_BYTES} bytes`);
}

/** The todos from the place of a token on, as many as fit in an answer. A long text is given in pieces. */
export async function readTodos(call: CallRpc, pageToken = ""): Promise<Json> {
  const { todos } = (await call("TodoService.ListTodos", {})) as { todos: Json[] };
  const [first, field, character] = (
    pageToken === "" ? [0, 0, 0] : decodeToken(pageToken, ["number", "number", "number"])
  ) as [number, number, number];
  const answer: Json[] = [];
  let left = MOST_BYTES - ENVELOPE_BYTES - FRAME_BYTES;
  for (let i = first; i < todos.length; i++) {
    const todo = todos[i] as Json;
    const bytes = sentBytes(JSON.stringify(todo)) + 1;
    const isBegun = i === first && (field > 0 || character > 0);
    if (!isBegun && bytes <= left) {
      answer.push(todo);
      left -= bytes;
      continue;
    }
    if (answer.length > 0) return { todos: answer, nextPageToken: encodeToken([i, 0, 0]), note: NOTE };
    const { piece, next } = cutDocument(todo, placeOf(isBegun ? field : 0, isBegun ? character : 0), left);
    answer.push(piece);
    if (next !== undefined) {
      return { todos: answer, nextPageToken: encodeToken([i, next.field, next.character]), note: NOTE };
    }
    left -= sentBytes(JSON.stringify(piece)) + 1;
  }
  return { todos: answer };
}
