import { getMessage, getSession, updateMessage } from "../api/calls.js";
import { ApiError, CODE } from "../api/http.js";
import type { Message, Part } from "../api/types.js";

/** A message as it was when its edit began, and the revision that its session had then. */
export interface EditBase {
  readonly revision: string;
  readonly message: Message;
}

/** How often to try again when another change of the session, such as a new title, came in between. */
const TRIES = 5;

export async function readForEdit(sessionId: string, messageId: string): Promise<EditBase> {
  // In this order, a change between the two requests is reported as a conflict and never overwritten.
  const { revision } = await getSession(sessionId);
  return { revision, message: await getMessage(sessionId, messageId) };
}

/**
 * Gives the message new parts. If somebody else has changed it meanwhile, nothing is saved, and the promise resolves to
 * the message as it is now.
 */
export async function saveParts(
  sessionId: string,
  base: EditBase,
  parts: readonly Part[],
): Promise<EditBase | undefined> {
  const messageId = base.message.info.id;
  let { revision } = base;
  for (let tries = 1; ; tries++) {
    try {
      await updateMessage(sessionId, messageId, parts, revision);
      return undefined;
    } catch (error) {
      if (!(error instanceof ApiError && error.code === CODE.aborted && tries < TRIES)) throw error;
    }
    const now = await readForEdit(sessionId, messageId);
    // An earlier try may have succeeded although its answer was lost.
    if (isSame(now.message.parts, parts)) return undefined;
    if (!isSame(now.message.parts, base.message.parts)) return now;
    revision = now.revision;
  }
}

/** Undoes an edit unless somebody has changed the message since. Resolves to whether it was undone. */
export async function putBack(
  sessionId: string,
  messageId: string,
  before: readonly Part[],
  after: readonly Part[],
): Promise<boolean> {
  const now = await readForEdit(sessionId, messageId);
  return isSame(now.message.parts, after) && (await saveParts(sessionId, now, before)) === undefined;
}

export function isSame(one: readonly Part[], other: readonly Part[]): boolean {
  return JSON.stringify(one.map(inOrder)) === JSON.stringify(other.map(inOrder));
}

function inOrder({ id, type, text, data }: Part): readonly unknown[] {
  return [id ?? "", type, text ?? "", data ?? null];
}

/** Whether a part is edited as a text; all others are edited as JSON. */
export function isText({ type, text }: Part): boolean {
  return type === "text" || Boolean(text);
}

export function asJson(parts: readonly Part[]): string {
  return JSON.stringify(parts, null, 2);
}

/** Returns the parts, or a text that says what is wrong with the JSON. */
export function partsOf(json: string): readonly Part[] | string {
  try {
    const value: unknown = JSON.parse(json);
    return Array.isArray(value) ? (value as Part[]) : "The parts must be a list in square brackets.";
  } catch (error) {
    return `This is not JSON: ${(error as Error).message}.`;
  }
}
