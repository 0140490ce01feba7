import {
  type Entry,
  MessageBody,
  type Range,
  type RangeOptions,
  type RunningUsage,
  type Segment,
  type Tail,
  type UsageEnds,
  type UsageRow,
} from "session-pool";

type Row = Omit<Entry, "body" | "usageSums"> & { readonly body: string };

/** One log of the toy store: its rows by place, and the place of its seal. */
export class ToyLog {
  readonly #rows = new Map<number, Row>();
  readonly #sums = new Map<number, RunningUsage>();
  #seal: number | undefined;

  get isEmpty(): boolean {
    return this.#rows.size === 0 && this.#seal === undefined;
  }

  append(seq: number, entries: readonly Entry[]): number | "idTaken" {
    if (this.#seal !== undefined || seq !== this.#lastSeq + 1) return 0;
    const ids = new Set(entries.map(({ id }) => id));
    if (ids.size < entries.length || [...this.#rows.values()].some(({ id }) => ids.has(id))) return "idTaken";
    for (const entry of entries) {
      this.#rows.set(entry.seq, toRow(entry));
      if (entry.usageSums) this.#sums.set(entry.seq, entry.usageSums);
    }
    return entries.length;
  }

  seal(): number {
    this.#seal ??= this.#lastSeq + 1;
    return this.#seal - 1;
  }

  tail(): Omit<Tail, "isNamed"> {
    const state = this.#seal === undefined ? "open" : "sealed";
    const last = this.#rows.get(this.#seal === undefined ? this.#lastSeq : this.#seal - 1);
    return { last: last ? { seq: last.seq, id: last.id, timestampMicros: last.timestampMicros } : null, state };
  }

  entry(seq: number): Entry | undefined {
    const row = this.#rows.get(seq);
    return row && toEntry(row);
  }

  bodyBytes({ first, last }: Segment): number {
    const rows = [...this.#rows.values()].filter(({ seq }) => seq >= first && seq <= last);
    return rows.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0);
  }

  get entries(): Entry[] {
    return [...this.#rows.values()].map(toEntry).sort((a, b) => a.seq - b.seq);
  }

  withIds(ids: readonly string[]): Entry[] {
    return [...this.#rows.values()].filter(({ id }) => ids.includes(id)).map(toEntry);
  }

  read(first: number, last: number, { descending, limit = Infinity, maxBytes = Infinity }: RangeOptions): Range {
    const entries: Entry[] = [];
    let bytes = 0;
    for (let i = 0; i <= last - first && entries.length < limit; i++) {
      const row = this.#rows.get(descending ? last - i : first + i);
      if (!row) break;
      bytes += row.body.length;
      if (bytes > maxBytes && entries.length > 0) return { entries, cut: true };
      entries.push(toEntry(row));
    }
    return { entries, cut: false };
  }

  readUsage({ first, last }: Segment, limit: number): UsageRow[] {
    const used = this.entries.filter(({ seq }) => seq >= first && seq <= last && this.#sums.has(seq));
    return used.slice(0, limit).map(toUsage);
  }

  usageEnds({ first, last }: Segment): UsageEnds | null {
    const used = this.entries.filter(({ seq }) => seq >= first && seq <= last && this.#sums.has(seq));
    const [start] = used;
    if (!start) return null;
    const [from, to] = [start, used.at(-1)].map((entry) => this.#sums.get(entry?.seq ?? 0)) as RunningUsage[];
    return { sessionId: start.sessionId, first: { ...toUsage(start), sums: from! }, last: to! };
  }

  seqAtTime(first: number, last: number, micros: number): number | null {
    for (let seq = first; seq <= last; seq++) {
      const row = this.#rows.get(seq);
      if (!row) return null;
      if (row.timestampMicros >= micros) return seq;
    }
    return last + 1;
  }

  overwrite(entry: Entry): void {
    const row = this.#rows.get(entry.seq);
    if (row?.id === entry.id) this.#rows.set(entry.seq, { ...row, body: entry.body.encode() });
  }

  /** Deletes at most `limit` places; returns how many. */
  delete(limit: number, { first, last }: Pick<Segment, "first" | "last"> = { first: 1, last: Infinity }): number {
    const isMeant = (seq: number) => seq >= first && seq <= last;
    const seqs = [...this.#rows.keys()].filter(isMeant).slice(0, limit);
    for (const seq of seqs) {
      this.#rows.delete(seq);
      this.#sums.delete(seq);
    }
    if (this.#seal === undefined || !isMeant(this.#seal) || seqs.length >= limit) return seqs.length;
    this.#seal = undefined;
    return seqs.length + 1;
  }

  get #lastSeq(): number {
    return Math.max(0, ...this.#rows.keys());
  }
}

function toUsage({ log, seq, timestampMicros, originSessionId, body }: Entry): UsageRow {
  return { log, seq, timestampMicros, originSessionId, usage: body.usage ?? {} };
}

function toRow({ body, usageSums: _sums, ...rest }: Entry): Row {
  return { ...rest, body: body.encode() };
}

function toEntry({ body, ...rest }: Row): Entry {
  return { ...rest, body: MessageBody.stored(body) };
}
