import type { Call } from "../../domain/call.js";
import type { ArrivedAttachment, AttachmentTable, Naming, Segment, StoredAttachment } from "../history/log-store.js";
import { ownerOf } from "../history/record-facts.js";
import { fromColumn, toColumn } from "../text-column.js";
import { columnsOf, splitLog } from "./rows.js";
import type { PostgresShared } from "./shared.js";
import type { Row, Value } from "./values.js";

const MOST = Number.MAX_SAFE_INTEGER;

/** The attachments of one namespace. Each write may be sent again until its outcome is known. */
export class PostgresAttachments implements AttachmentTable {
  readonly #shared: PostgresShared;
  /** As a column holds it. */
  readonly #namespace: string;

  constructor(shared: PostgresShared, namespace: string) {
    this.#shared = shared;
    this.#namespace = toColumn(namespace);
  }

  async begin(attachment: StoredAttachment, call?: Call): Promise<"stored" | "gone"> {
    const { uid, log, attachmentId, mediaType, name, size, sha256, createTimeMicros, seenMs, state, pieces } =
      attachment;
    const texts = [attachmentId, mediaType, name].map(toColumn);
    const values = [...this.#placeOf(log), ...texts, size, sha256, createTimeMicros, seenMs, state, pieces];
    const [row] = await this.#inTurn(uid, this.#shared.sql.beginAttachment, values, call);
    return row?.[0] === 1 ? "stored" : "gone";
  }

  async putPiece(log: string, seq: number, bytes: Uint8Array, call?: Call): Promise<"stored" | "gone"> {
    const [row] = await this.#write(this.#shared.sql.putPiece, [...this.#placeOf(log), seq, bytes], call);
    return row?.[0] === true ? "stored" : "gone";
  }

  async complete(arrived: ArrivedAttachment, call?: Call): Promise<StoredAttachment | "gone"> {
    const { log, size, sha256, createTimeMicros, seenMs } = arrived;
    const values = [...this.#placeOf(log), size, sha256, createTimeMicros, seenMs];
    const [row] = await this.#inTurn(ownerOf(log), this.#shared.sql.completeAttachment, values, call);
    return row === undefined ? "gone" : toAttachment(row);
  }

  async readPieces(log: string, first: number, limit: number, call?: Call): Promise<readonly Uint8Array[]> {
    const values = [...splitLog(log), first, Math.min(first + limit - 1, MOST)];
    const rows = await this.#read(this.#shared.sql.readPieces, values, call);
    const pieces: Buffer[][] = [];
    for (const [seq, bytes] of rows) {
      const i = (seq as number) - first;
      if (i > pieces.length) break;
      pieces[i] = [...(pieces[i] ?? []), Buffer.from(bytes as string, "base64")];
    }
    return pieces.map((parts) => Buffer.concat(parts));
  }

  async lastPiece(log: string, call?: Call): Promise<number> {
    const [row] = await this.#read(this.#shared.sql.lastPiece, splitLog(log), call);
    return (row?.[0] as number | undefined) ?? 0;
  }

  async find(uid: string, attachmentIds: readonly string[], call?: Call): Promise<readonly StoredAttachment[]> {
    const values = [toColumn(uid), this.#namespace, [...new Set(attachmentIds)].map(toColumn)];
    return (await this.#read(this.#shared.sql.findAttachments, values, call)).map(toAttachment);
  }

  async findLog(log: string, call?: Call): Promise<StoredAttachment | null> {
    const [row] = await this.#read(this.#shared.sql.attachmentOf, this.#placeOf(log), call);
    return row === undefined ? null : toAttachment(row);
  }

  async list(uid: string, afterLog: string, limit: number, call?: Call): Promise<readonly StoredAttachment[]> {
    const [, after] = splitLog(afterLog);
    const values = [toColumn(uid), this.#namespace, after, limit];
    return (await this.#read(this.#shared.sql.listAttachments, values, call)).map(toAttachment);
  }

  async listSeen(
    state: StoredAttachment["state"],
    untilMs: number,
    limit: number,
    call?: Call,
  ): Promise<readonly StoredAttachment[]> {
    const values = [this.#namespace, state, untilMs, limit];
    return (await this.#read(this.#shared.sql.listSeen, values, call)).map(toAttachment);
  }

  async change(
    log: string,
    { seenMs, state, pieces }: { readonly seenMs: number; readonly state?: "doomed"; readonly pieces?: number },
    call?: Call,
  ): Promise<void> {
    const values = [...this.#placeOf(log), seenMs, state ?? null, pieces ?? null];
    await this.#write(this.#shared.sql.changeAttachment, values, call);
  }

  async remove(log: string, call?: Call): Promise<void> {
    await this.#write(this.#shared.sql.removeAttachment, this.#placeOf(log), call);
  }

  async usage(uid: string, call?: Call): Promise<{ readonly bytes: number; readonly arriving: number }> {
    const [row] = await this.#read(this.#shared.sql.attachmentUsage, [toColumn(uid), this.#namespace], call);
    const [bytes, arriving] = row as readonly [number, number];
    return { bytes, arriving };
  }

  async namings(
    target: string,
    after: { readonly log: string; readonly seq: number } | undefined,
    limit: number,
    call?: Call,
  ): Promise<readonly Naming[]> {
    const place = after === undefined ? ["", "", 0] : [...splitLog(after.log), after.seq];
    const values = [...splitLog(target), ...place, limit];
    return (await this.#read(this.#shared.sql.namings, values, call)).map(toNaming);
  }

  async findNamings(
    logs: readonly string[],
    attachmentIds: readonly string[],
    call?: Call,
  ): Promise<readonly Naming[]> {
    const values = [...columnsOf([...new Set(logs)]), [...new Set(attachmentIds)].map(toColumn)];
    return (await this.#read(this.#shared.sql.findNamings, values, call)).map(toNaming);
  }

  async listNamings(logs: readonly string[], afterId: string, limit: number, call?: Call): Promise<readonly Naming[]> {
    const values = [...columnsOf([...new Set(logs)]), toColumn(afterId), limit];
    return (await this.#read(this.#shared.sql.listNamings, values, call)).map(toNaming);
  }

  async targetsIn(
    where: Segment | { readonly foreignTo: string },
    limit: number,
    call?: Call,
  ): Promise<readonly string[]> {
    const { sql } = this.#shared;
    const rows =
      "foreignTo" in where
        ? await this.#read(sql.foreignTargets, [toColumn(where.foreignTo), limit], call)
        : await this.#read(
            sql.targetsInRange,
            [...splitLog(where.log), where.first, Math.min(where.last, MOST), limit],
            call,
          );
    return rows.map(([uid, log]) => joined(uid, log));
  }

  #placeOf(log: string): [uid: string, rest: string, namespace: string] {
    return [...splitLog(log), this.#namespace];
  }

  #read(text: string, values: readonly Value[], call: Call | undefined): Promise<Row[]> {
    return this.#shared.pool.read(text, values, call);
  }

  #write(text: string, values: readonly Value[], call: Call | undefined): Promise<Row[]> {
    const { pool } = this.#shared;
    return pool.settle(call, () => pool.run(text, values, call));
  }

  /** For statements that lock the record of the session. */
  #inTurn(uid: string, text: string, values: readonly Value[], call: Call | undefined): Promise<Row[]> {
    return this.#shared.turns.take(uid, call, (limited) => this.#write(text, values, limited));
  }
}

function toAttachment(row: Row): StoredAttachment {
  const [uid, log, id, mediaType, name, size, sha256, createTimeMicros, seenMs, state, pieces] = row as AttachmentRow;
  return {
    uid: fromColumn(uid),
    log: joined(uid, log),
    attachmentId: fromColumn(id),
    mediaType: fromColumn(mediaType),
    name: fromColumn(name),
    size,
    sha256,
    createTimeMicros,
    seenMs,
    state,
    pieces,
  };
}

type AttachmentRow = readonly [
  uid: string,
  log: string,
  id: string,
  mediaType: string,
  name: string,
  size: number,
  sha256: string,
  createTimeMicros: number,
  seenMs: number,
  state: StoredAttachment["state"],
  pieces: number,
];

function toNaming(row: Row): Naming {
  const [uid, log, seq, attachmentId, targetUid, targetLog] = row as readonly [
    string,
    string,
    number,
    string,
    string,
    string,
  ];
  return {
    log: joined(uid, log),
    seq,
    attachmentId: fromColumn(attachmentId),
    target: joined(targetUid, targetLog),
  };
}

function joined(uid: Row[number] | undefined, log: Row[number] | undefined): string {
  return fromColumn(uid as string) + fromColumn(log as string);
}
