import type { AgentInputItem, SessionHistoryTransactionArgs } from "@openai/agents-core";
import type { NewMessage, StoredMessage } from "../index.js";
import { toItems, toMessage } from "./agent-items.js";
import { hexOf } from "./attached.js";
import { fittedToReadable } from "./readable-text.js";
import { fromStorable, toStorable } from "./storable.js";

/**
 * The type of the part of a marker: a message that is no item, which stands before the items of a transaction and says
 * that it was applied. What `replaces` names is no longer part of the history, even if it is still there.
 */
const MARKER = "agents_transaction";

/** A transaction, ready to be stored. */
export interface PreparedTransaction {
  readonly markerId: string;
  readonly digest: string;
  /** The items that the history has to end with; undefined when it may end with anything. */
  readonly expectedSuffix: readonly AgentInputItem[] | undefined;
  /** The items to add; their ids depend only on the operation, so that a repetition adds nothing. */
  readonly messages: readonly NewMessage[];
}

/** TypeError: the arguments are not those of a transaction. */
export async function prepareTransaction(args: SessionHistoryTransactionArgs): Promise<PreparedTransaction> {
  const { operationId, transaction } = args ?? {};
  if (typeof operationId !== "string" || operationId.trim() === "")
    throw new TypeError("The operationId must be a non-empty string");
  const isAppend = transaction?.type === "append_items";
  if (!isAppend && transaction?.type !== "replace_suffix")
    throw new TypeError("A history transaction is append_items or replace_suffix");
  const items = isAppend ? transaction.items : transaction.replacement;
  const expectedSuffix = isAppend ? undefined : transaction.expectedSuffix;
  if (!Array.isArray(items) || (!isAppend && !Array.isArray(expectedSuffix)))
    throw new TypeError("The items of a history transaction must be lists");
  const markerId = `agents-${await sha256(operationId)}`;
  const digest = await sha256(canonical(transaction));
  return { markerId, digest, expectedSuffix, messages: items.map((item, i) => toMessage(item, `${markerId}-${i}`)) };
}

export function markerOf({ markerId, digest }: PreparedTransaction, replaced: readonly string[]): NewMessage {
  const data = { digest, replaces: [...replaced] };
  return { info: { id: markerId, role: "system" }, parts: [{ type: MARKER, data }] };
}

/** What a marker says; undefined for any other message. */
export function readMarker({ parts }: StoredMessage): { digest: string; replaces: readonly string[] } | undefined {
  const [part] = parts;
  if (part?.type !== MARKER) return undefined;
  const { digest, replaces } = part.data ?? {};
  return { digest: `${digest}`, replaces: Array.isArray(replaces) ? replaces.map(String) : [] };
}

/** Whether messages, oldest first, are the items that a transaction expects. */
export function isExpected(messages: readonly StoredMessage[], expected: readonly AgentInputItem[]): boolean {
  const items = toItems(messages);
  return items.length === expected.length && items.every((item, i) => isSame(item, expected[i] as AgentInputItem));
}

/** An item that is over a limit equals what is left of it. */
function isSame(stored: AgentInputItem, expected: AgentInputItem): boolean {
  if (canonical(stored) === canonical(expected)) return true;
  const kept = fittedToReadable(toMessage(expected)).parts?.at(-1)?.data;
  return kept !== undefined && canonical(stored) === canonical(fromStorable(kept));
}

/** One text for all objects with the same fields, in any order. */
function canonical(value: unknown): string {
  return JSON.stringify(toStorable(value, { keepBytes: true }), (_key, item: unknown) =>
    typeof item === "object" && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}

async function sha256(text: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return hexOf(new Uint8Array(hash, 0, 20));
}
