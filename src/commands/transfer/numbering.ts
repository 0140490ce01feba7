import { RangeMap } from "../../domain/range-map.js";
import type { SessionSnapshot, SnapshotRange } from "../../domain/session-image.js";
import type { FileSession, Numbers } from "./session-file.js";

/** A snapshot in the terms of the file. */
export interface NumberedSession {
  readonly session: FileSession;
  /** The messages that no earlier session named, in the order of their numbers. */
  readonly fresh: readonly SnapshotRange[];
  /** The number of the attachment with this log; undefined when it is not in the file yet. */
  attachment(log: string): number | undefined;
  /** Numbers one that is not in the file yet. */
  addAttachment(log: string): number;
  /** Remembers what was numbered, once it is in the file. */
  keep(): void;
}

/** Numbers messages in the order in which sessions name them, and attachments in that of the messages. */
export class Numbering {
  /** The attachments in the file that later sessions may name, by their logs. */
  readonly #attachments = new Map<string, number>();
  #attachmentCount = 0;
  /** For logs that later sessions may name: maps a log to the number of the first message of each range. */
  readonly #known = new Map<string, RangeMap<number>>();
  #count = 0;

  /** Numbers what a snapshot names. Nothing is remembered until `keep` is called. */
  draft(snapshot: SessionSnapshot): NumberedSession {
    const own = new Map<string, RangeMap<number>>();
    const fresh: SnapshotRange[] = [];
    let count = this.#count;
    const number = (ranges: readonly SnapshotRange[]): Numbers[] => {
      const numbers = ranges.flatMap((range) =>
        this.#parts(range, own).map(({ first, last, number: known }): Numbers => {
          if (known !== undefined) return [known, known + last - first];
          const start = count + 1;
          count += last - first + 1;
          add(own, { log: range.log, first, last }, start);
          fresh.push({ ...range, first, last });
          return [start, count];
        }),
      );
      return joined(numbers);
    };
    const session = fileSession(snapshot, number);
    const attachments = new Map<string, number>();
    const addAttachment = (log: string) => {
      const added = this.#attachmentCount + attachments.size + 1;
      attachments.set(log, added);
      return added;
    };
    const keep = () => {
      this.#attachmentCount += attachments.size;
      for (const [log, added] of attachments) {
        if (snapshot.isShared || !log.startsWith(`${snapshot.uid}.`)) this.#attachments.set(log, added);
      }
      let next = this.#count;
      for (const range of fresh) {
        if (snapshot.isShared || !range.isOwn) add(this.#known, range, next + 1);
        next += range.last - range.first + 1;
      }
      this.#count = count;
    };
    const attachment = (log: string) => this.#attachments.get(log) ?? attachments.get(log);
    return { session, fresh, attachment, addAttachment, keep };
  }

  #parts(
    { log, first, last }: SnapshotRange,
    own: ReadonlyMap<string, RangeMap<number>>,
  ): { first: number; last: number; number?: number }[] {
    const lookUp = (known: ReadonlyMap<string, RangeMap<number>>, from: number, to: number) =>
      (known.get(log)?.parts(from, to) ?? [{ first: from, last: to }]).map((part) => ({
        first: part.first,
        last: part.last,
        ...(part.known && { number: part.known.value + part.known.offset }),
      }));
    return lookUp(this.#known, first, last).flatMap((part) =>
      part.number === undefined ? lookUp(own, part.first, part.last) : part,
    );
  }
}

function fileSession(
  snapshot: SessionSnapshot,
  number: (ranges: readonly SnapshotRange[]) => readonly Numbers[],
): FileSession {
  const { origin, undo } = snapshot;
  // The order in which the lists are numbered is part of the format.
  const ancestry = snapshot.ancestry.map((one) => ({ sessionId: one.sessionId, messages: number(one.ranges) }));
  const messages = number(snapshot.messages);
  return {
    sessionId: snapshot.sessionId,
    title: snapshot.title,
    metadata: snapshot.metadata,
    labels: snapshot.labels,
    owner: snapshot.owner || undefined,
    expireTimeMicros: snapshot.expireTimeMicros,
    createTimeMicros: snapshot.createTimeMicros,
    updateTimeMicros: snapshot.updateTimeMicros,
    revision: snapshot.revision,
    parentId: snapshot.parentId || undefined,
    forkPointId: snapshot.forkPointId || undefined,
    inheritedCount: snapshot.inheritedCount || undefined,
    origin: origin
      ? {
          kind: origin.kind,
          sourceSessionId: origin.sourceSessionId,
          upToMessageId: origin.upToMessageId,
          sourceLives: origin.sourceLives,
        }
      : undefined,
    ancestry: ancestry.length > 0 ? ancestry : undefined,
    messages,
    undo: undo ? number(undo) : undefined,
    annotations: snapshot.annotations?.length ? snapshot.annotations : undefined,
  };
}

function add(known: Map<string, RangeMap<number>>, { log, first, last }: Omit<SnapshotRange, "isOwn">, number: number) {
  let map = known.get(log);
  if (map === undefined) {
    map = new RangeMap();
    known.set(log, map);
  }
  map.add(first, last, number);
}

function joined(numbers: readonly Numbers[]): Numbers[] {
  const result: Numbers[] = [];
  for (const [first, last] of numbers) {
    const previous = result.at(-1);
    if (previous && previous[1] + 1 === first) result[result.length - 1] = [previous[0], last];
    else result.push([first, last]);
  }
  return result;
}
