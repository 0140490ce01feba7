import type { Call } from "../../src/domain/call.js";
import { DomainError } from "../../src/domain/errors.js";
import type {
  ArrivedAttachment,
  AttachmentTable,
  Naming,
  Segment,
  StoredAttachment,
} from "../../src/storage/history/log-store.js";
import { isWritable, ownerOf } from "../../src/storage/history/record-facts.js";
import { type AttachmentOwner, MemoryAttachmentTable } from "../../src/storage/memory/memory-attachment-table.js";
import type { SimDatabase } from "./sim-database.js";

/** Sends one request, as `SimStore.request` does. */
type Request = <T>(
  call: Call | undefined,
  name: string,
  args: readonly unknown[],
  effect: () => Promise<T>,
) => Promise<T>;

/**
 * The attachments of a simulated store. Every call is one request, which is sent again until there is an answer, except
 * that a store without transactions looks at the record, at the row and at the piece one after the other.
 */
export class SimAttachmentTable implements AttachmentTable {
  readonly #request: Request;
  readonly #isAtomic: boolean;
  readonly #recordOf: AttachmentOwner["recordOf"];
  readonly #own: MemoryAttachmentTable;
  /** The table without regard to records. */
  readonly #rows: MemoryAttachmentTable;

  constructor(db: SimDatabase, request: Request, isAtomic: boolean) {
    this.#request = request;
    this.#isAtomic = isAtomic;
    this.#recordOf = (uid) => {
      const record = db.document(uid)?.record;
      return record && (isWritable(record) ? "writable" : "gone");
    };
    const table = (one: AttachmentOwner["recordOf"]) =>
      new MemoryAttachmentTable({ memory: db.attachments, enter: () => {}, recordOf: one });
    this.#own = table(this.#recordOf);
    this.#rows = table(() => "writable");
  }

  async begin(attachment: StoredAttachment, call?: Call): Promise<"stored" | "gone"> {
    const args = [attachment.uid, attachment.attachmentId];
    if (this.#isAtomic) return this.#ask(call, "beginAttachment", args, () => this.#own.begin(attachment));
    if (!(await this.#isWritable(attachment.uid, call))) return "gone";
    return this.#ask(call, "beginAttachment", args, () => this.#rows.begin(attachment));
  }

  async putPiece(log: string, seq: number, bytes: Uint8Array, call?: Call): Promise<"stored" | "gone"> {
    const put = () => this.#own.putPiece(log, seq, bytes);
    return this.#ask(call, "putPiece", [log, seq], put);
  }

  async complete(arrived: ArrivedAttachment, call?: Call): Promise<StoredAttachment | "gone"> {
    const { log } = arrived;
    if (this.#isAtomic) return this.#ask(call, "complete", [log], () => this.#own.complete(arrived));
    if (!(await this.#isWritable(ownerOf(log), call))) return "gone";
    return this.#ask(call, "complete", [log], () => this.#rows.complete(arrived));
  }

  readPieces(log: string, first: number, limit: number, call?: Call): Promise<readonly Uint8Array[]> {
    return this.#request(call, "readPieces", [log, first], () => this.#own.readPieces(log, first, limit));
  }

  lastPiece(log: string, call?: Call): Promise<number> {
    return this.#request(call, "lastPiece", [log], () => this.#own.lastPiece(log));
  }

  find(uid: string, ids: readonly string[], call?: Call): Promise<readonly StoredAttachment[]> {
    return this.#request(call, "findAttachments", [uid, ids], () => this.#own.find(uid, ids));
  }

  findLog(log: string, call?: Call): Promise<StoredAttachment | null> {
    return this.#request(call, "findAttachment", [log], () => this.#own.findLog(log));
  }

  list(uid: string, afterLog: string, limit: number, call?: Call): Promise<readonly StoredAttachment[]> {
    return this.#request(call, "listAttachments", [uid, afterLog], () => this.#own.list(uid, afterLog, limit));
  }

  listSeen(
    state: StoredAttachment["state"],
    untilMs: number,
    limit: number,
    call?: Call,
  ): Promise<readonly StoredAttachment[]> {
    return this.#request(call, "listSeen", [state, untilMs], () => this.#own.listSeen(state, untilMs, limit));
  }

  change(log: string, change: Parameters<AttachmentTable["change"]>[1], call?: Call): Promise<void> {
    return this.#ask(call, "changeAttachment", [log, change], () => this.#own.change(log, change));
  }

  remove(log: string, call?: Call): Promise<void> {
    return this.#ask(call, "removeAttachment", [log], () => this.#own.remove(log));
  }

  usage(uid: string, call?: Call): Promise<{ readonly bytes: number; readonly arriving: number }> {
    return this.#request(call, "attachmentUsage", [uid], () => this.#own.usage(uid));
  }

  namings(target: string, after: Pick<Naming, "log" | "seq"> | undefined, limit: number, call?: Call) {
    return this.#request(call, "namings", [target, after], () => this.#own.namings(target, after, limit));
  }

  findNamings(logs: readonly string[], ids: readonly string[], call?: Call): Promise<readonly Naming[]> {
    return this.#request(call, "findNamings", [logs, ids], () => this.#own.findNamings(logs, ids));
  }

  listNamings(logs: readonly string[], afterId: string, limit: number, call?: Call): Promise<readonly Naming[]> {
    return this.#request(call, "listNamings", [logs, afterId], () => this.#own.listNamings(logs, afterId, limit));
  }

  targetsIn(where: Segment | { readonly foreignTo: string }, limit: number, call?: Call): Promise<readonly string[]> {
    return this.#request(call, "targetsIn", [where], () => this.#own.targetsIn(where, limit));
  }

  #isWritable(uid: string, call?: Call): Promise<boolean> {
    return this.#ask(call, "readOwner", [uid], async () => this.#recordOf(uid) === "writable");
  }

  /** Sends a request again until its answer arrives. */
  async #ask<T>(call: Call | undefined, name: string, args: readonly unknown[], effect: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await this.#request(call, name, args, effect);
      } catch (error) {
        if (!(error instanceof DomainError) || error.code !== "unavailable") throw error;
      }
    }
  }
}
