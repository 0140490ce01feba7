import { it } from "vitest";
import { MessageBody } from "../../../src/domain/message-body.js";
import type {
  AttachmentTable,
  Entry,
  LogStore,
  Naming,
  StoredAttachment,
} from "../../../src/storage/history/log-store.js";
import { ownerOf } from "../../../src/storage/history/record-facts.js";
import { entry, own, T0 } from "./fixtures.js";
import type { LogStoreSubject } from "./subject.js";

/** More than any case stores. */
export const ALL = 10_000;

/** A case that needs attachments. It is skipped on a store that keeps none. */
export function itKeeps(
  subject: LogStoreSubject,
  name: string,
  work: (table: AttachmentTable, store: LogStore) => Promise<void>,
): void {
  it(name, async (context) => {
    const { store } = subject;
    if (store.attachments === undefined) return context.skip("the store keeps no attachments");
    await work(store.attachments, store);
  });
}

/** The row of an attachment that arrives. */
export function arriving(log: string, more: Partial<StoredAttachment> = {}): StoredAttachment {
  return {
    uid: ownerOf(log),
    log,
    attachmentId: `id of ${log}`,
    mediaType: "text/plain",
    name: `${log}.txt`,
    size: 0,
    sha256: "",
    createTimeMicros: T0,
    seenMs: 1000,
    state: "arriving",
    pieces: 0,
    ...more,
  };
}

/** Begins an attachment of a session that lives, and insists that it was stored. */
export async function begun(
  store: LogStore,
  log: string,
  more: Partial<StoredAttachment> = {},
): Promise<StoredAttachment> {
  await own(store, log);
  const row = arriving(log, more);
  const outcome = await store.attachments?.begin(row);
  if (outcome !== "stored") throw new Error(`begin of ${log} answered ${outcome}`);
  return row;
}

/** Stores an attachment with one piece, and resolves to its row. */
export async function stored(
  store: LogStore,
  log: string,
  more: Partial<StoredAttachment> = {},
): Promise<StoredAttachment> {
  const { seenMs } = await begun(store, log, more);
  const piece = Buffer.from(`bytes of ${log}`);
  await store.attachments?.putPiece(log, 1, piece);
  const size = more.size ?? piece.length;
  const arrived = { log, size, sha256: "5a".repeat(32), createTimeMicros: T0 + 1, seenMs };
  const row = await store.attachments?.complete(arrived);
  if (row === undefined || row === "gone") throw new Error(`complete of ${log} answered ${row}`);
  return row;
}

/** An entry that names attachments, each given by its id and the log of its pieces. */
export function naming(log: string, seq: number, ...named: readonly (readonly [id: string, target: string])[]): Entry {
  const parts = named.map(([id]) => ({ id: "", type: "file", text: id }));
  const attachments = named.map(([attachmentId, target]) => ({ attachmentId, log: target }));
  return { ...entry(log, seq), body: MessageBody.of({ parts, metadata: undefined }, attachments) };
}

/** Appends entries that name attachments, one after the other, and insists that they were stored. */
export async function fillNaming(store: LogStore, entries: readonly Entry[]): Promise<void> {
  for (const one of entries) {
    await own(store, one.log);
    const outcome = await store.append(one.log, one.seq, [one]);
    if (outcome !== 1) throw new Error(`append of ${one.seq} to ${one.log} answered ${outcome}`);
  }
}

export function sorted(namings: readonly Naming[]): string[] {
  return namings.map(({ log, seq, attachmentId, target }) => JSON.stringify([log, seq, attachmentId, target])).sort();
}

/** What the stored entries of these logs name. */
export async function namedBy(store: LogStore, logs: readonly string[]): Promise<string[]> {
  const found: Naming[] = [];
  for (const log of logs) {
    // A range ends at a gap.
    for (let seq = 1; seq <= 40; seq++) {
      for (const { body } of (await store.readRange(log, seq, seq)).entries) {
        for (const one of body.attachments) {
          found.push({ log, seq, attachmentId: one.attachmentId, target: one.log });
        }
      }
    }
  }
  return sorted(found);
}
