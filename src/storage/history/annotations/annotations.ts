import {
  type Annotation,
  type AnnotationChange,
  type AnnotationCursor,
  type AnnotationPage,
  authorFor,
  checkSaysSomething,
  compareAnnotations,
  isSameAnnotation,
  MOST_ANNOTATIONS,
  MOST_ANNOTATIONS_OF_MESSAGE,
  type NewAnnotation,
} from "../../../domain/annotation.js";
import type { Call } from "../../../domain/call.js";
import { isErased, isSameMessage } from "../../../domain/erasure.js";
import { DomainError, invalidArgument, notFound } from "../../../domain/errors.js";
import { cutAtBytes } from "../../../domain/page.js";
import type { StorageProvider } from "../../storage-provider.js";
import { bytesOf } from "../byte-counts.js";
import { type Head, type HistoryContext, visibleSegments } from "../heads.js";
import type { Entry, NextRecord, Segment, SessionRecord } from "../log-store.js";
import { locate, locateOnHead } from "../read/lookup.js";
import { openSegments } from "../read/pieces.js";
import { Again } from "../retries.js";
import { isSameList, joinSegments, segmentsWithout } from "../segments.js";
import { undoAt } from "../undo.js";
import type { SideLogs, Unplaced } from "../write/side-logs.js";
import { type Held, layersOf, readAnnotations, toEntry } from "./annotation-entry.js";
import { mergeAnnotations } from "./merge-annotations.js";

/** What an annotation takes in an answer beside its texts, at most. */
const FIXED_BYTES = 512;

/** What a change does: the entry that it writes, and the entries whose places it gives up. */
interface Plan<T> {
  readonly answer: T;
  readonly add?: Unplaced | undefined;
  readonly remove?: readonly Entry[];
  /** Which of those given up is an earlier state of what is written. */
  readonly instead?: Entry;
}

/**
 * Notes and feedback on messages. Each is an entry of a side log that the record names among its `annotations`, so a
 * fork takes them by naming the same places. Changes replace the record, and need no fresh open log.
 */
export class Annotations {
  readonly #context: HistoryContext;
  readonly #sideLogs: SideLogs;

  constructor(context: HistoryContext, sideLogs: SideLogs) {
    this.#context = context;
    this.#sideLogs = sideLogs;
  }

  /** Implements {@link StorageProvider.createAnnotation}. */
  async create(sessionId: string, given: NewAnnotation, call?: Call): Promise<Annotation> {
    const annotationId = given.annotationId || this.#context.options.newMessageId();
    const { messageId, thumb = "", text = "" } = given;
    const content = { thumb, text, author: authorFor(call, given.author) ?? "" };
    return this.#change(sessionId, call, async (head, held) => {
      const known = held.find(({ annotation }) => annotation.annotationId === annotationId);
      const isTight = known !== undefined || held.length >= MOST_ANNOTATIONS;
      const lost = isTight ? await this.#lost(head, held, call) : [];
      if (known && !lost.includes(known)) {
        if (isSameAnnotation(known.annotation, { messageId, ...content })) return { answer: known.annotation };
        throw taken(annotationId, sessionId);
      }
      const message = (await locateOnHead(this.#context, head, [messageId], call)).get(messageId)?.entry;
      if (message === undefined) {
        await this.#context.checkCurrent(head.record, call);
        throw notFound("Message", messageId);
      }
      const left = lost.length === 0 ? held : held.filter((one) => !lost.includes(one));
      checkRoom(left, message, sessionId);
      const createTimeMicros = this.#context.options.nowMicros();
      const annotation = { annotationId, messageId, ...content, createTimeMicros, updateTimeMicros: createTimeMicros };
      const remove = lost.map(({ entry }) => entry);
      return { answer: annotation, add: toEntry(annotation, message), remove };
    });
  }

  /** Implements {@link StorageProvider.updateAnnotation}. */
  async update(sessionId: string, annotationId: string, change: AnnotationChange, call?: Call): Promise<Annotation> {
    return this.#change(sessionId, call, async (head, held) => {
      const { entry, annotation } = await this.#find(head, held, annotationId, call);
      const { thumb = annotation.thumb, text = annotation.text, author = annotation.author } = change;
      const content = { thumb, text, author: authorFor(call, author) ?? "" };
      checkSaysSomething(content);
      if (isSameAnnotation(annotation, { messageId: annotation.messageId, ...content })) return { answer: annotation };
      const updateTimeMicros = Math.max(this.#context.options.nowMicros(), annotation.updateTimeMicros);
      const updated = { ...annotation, ...content, updateTimeMicros };
      return { answer: updated, add: toEntry(updated, entry), remove: [entry], instead: entry };
    });
  }

  /** Implements {@link StorageProvider.deleteAnnotation}. */
  delete(sessionId: string, annotationId: string, call?: Call): Promise<void> {
    return this.#change(sessionId, call, async (head, held) => {
      const { entry } = await this.#find(head, held, annotationId, call);
      return { answer: undefined, remove: [entry] };
    });
  }

  /** Implements {@link StorageProvider.listAnnotations}. */
  list(
    sessionId: string,
    options: { readonly messageId: string; readonly limit: number; readonly cursor?: AnnotationCursor | undefined },
    call?: Call,
  ): Promise<AnnotationPage> {
    const { messageId, limit, cursor } = options;
    return this.#context.retrying(sessionId, call, async (saw) => {
      const head = await this.#context.need(sessionId, call);
      saw(head);
      const { uid } = head.record;
      if (cursor !== undefined && (cursor.sessionUid !== uid || cursor.messageId !== messageId)) {
        throw invalidArgument("page_token belongs to another session or message_id");
      }
      const held = (await readAnnotations(this.#context, head.record, call)).filter(
        ({ annotation }) =>
          (messageId === "" || annotation.messageId === messageId) &&
          (cursor === undefined || compareAnnotations(annotation, cursor) > 0),
      );
      const shown = (await this.#shown(head, held, call)).map(({ annotation }) => annotation).sort(compareAnnotations);
      const { pageBytes } = this.#context.options.limits;
      const annotations = cutAtBytes(shown.slice(0, limit), pageBytes, sizeOf);
      const last = annotations.at(-1);
      if (last === undefined || annotations.length === shown.length) return { annotations };
      const { createTimeMicros, annotationId } = last;
      return { annotations, next: { sessionUid: uid, messageId, createTimeMicros, annotationId } };
    });
  }

  /** Plans a change on the newest head and carries it out, as often as somebody else is first. */
  #change<T>(
    sessionId: string,
    call: Call | undefined,
    plan: (head: Head, held: readonly Held[]) => Promise<Plan<T>>,
  ): Promise<T> {
    return this.#context.retrying(sessionId, call, async (saw) => {
      const head = await this.#context.need(sessionId, call);
      saw(head);
      const { record } = head;
      const held = await readAnnotations(this.#context, head.record, call);
      const { answer, add, remove = [], instead } = await plan(head, held);
      if (add === undefined && remove.length === 0) return answer;
      const before = record.annotations ?? [];
      // A record that names many more of them than it has to has them merged first.
      const fewest = layersOf(held.map(({ entry }) => entry)).length;
      if (before.length - fewest >= this.#context.options.maxSegments >> 1) {
        await mergeAnnotations(this.#context, this.#sideLogs, head, call);
        throw new Again();
      }
      const left = segmentsWithout(before, remove.map(placeOf));
      const without = left.length === 0 ? undefined : left;
      if (add !== undefined) await this.#context.quotas.checkBytes(record, bytesOf([add]), call);
      const isDone =
        add === undefined
          ? await this.#sideLogs.replaceFields(record, this.#replacing(before, without), call)
          : await this.#write(head, before, left, add, instead, call);
      if (!isDone) throw new Again();
      return answer;
    });
  }

  /** Writes an entry to a side log and names it. Resolves to null when the annotations have changed meanwhile. */
  #write(
    head: Head,
    before: readonly Segment[],
    left: readonly Segment[],
    add: Unplaced,
    instead: Entry | undefined,
    call?: Call,
  ) {
    return this.#sideLogs.using(head.record, call, async (side) => {
      // Rule: erase-ends-copies. The new content may hold a part of the old one.
      if (instead !== undefined && !(await this.#isStill(instead, call))) return null;
      if (!(await this.#sideLogs.append(side, head, 0, [add], call))) return null;
      const annotations = joinSegments(left, [{ log: side.log, first: 1, last: 1 }]);
      return this.#sideLogs.settle(side, this.#replacing(before, annotations), call);
    });
  }

  /** Whether an entry has not been erased. Nothing else changes one. */
  async #isStill({ log, seq }: Entry, call?: Call): Promise<boolean> {
    const [entry] = (await this.#context.store.readRange(log, seq, seq, {}, call)).entries;
    return entry !== undefined && !isErased(entry.body);
  }

  /** Replaces the annotations of a record, unless others have changed them since. */
  #replacing(before: readonly Segment[], annotations: readonly Segment[] | undefined) {
    return (now: SessionRecord): Partial<NextRecord> | null => {
      if (!isSameList(now.annotations ?? [], before)) return null;
      return { annotations, updateTimeMicros: Math.max(now.updateTimeMicros, this.#context.options.nowMicros()) };
    };
  }

  /** Those whose messages the session shows now. */
  #shown(head: Head, held: readonly Held[], call?: Call): Promise<readonly Held[]> {
    return this.#within(visibleSegments(head), held, call);
  }

  /** Those whose messages the session will not show any more, not even after an unrevert. */
  async #lost({ record }: Head, held: readonly Held[], call?: Call): Promise<readonly Held[]> {
    const { last } = await this.#context.store.tail(record.log, call);
    const undo = undoAt(record, last?.seq ?? 0);
    const kept = new Set<Held>();
    for (const segments of [openSegments(record), undo?.segments ?? []]) {
      for (const one of await this.#within(segments, held, call)) kept.add(one);
    }
    return held.filter((one) => !kept.has(one));
  }

  /** Those whose messages are in segments. Another message may have got the id since. */
  async #within(segments: readonly Segment[], held: readonly Held[], call?: Call): Promise<readonly Held[]> {
    const ids = [...new Set(held.map(({ annotation }) => annotation.messageId))];
    const located = await locate(this.#context, segments, ids, call);
    return held.filter(({ entry }) => {
      const message = located.get(entry.id)?.entry;
      return message !== undefined && isSameMessage(message, entry);
    });
  }

  async #find(head: Head, held: readonly Held[], annotationId: string, call?: Call): Promise<Held> {
    const found = held.filter(({ annotation }) => annotation.annotationId === annotationId);
    const [shown] = await this.#shown(head, found, call);
    if (shown !== undefined) return shown;
    await this.#context.checkCurrent(head.record, call);
    throw notFound("Annotation", annotationId);
  }
}

function placeOf({ log, seq }: Entry): Segment {
  return { log, first: seq, last: seq };
}

function sizeOf({ annotationId, messageId, text, author }: Annotation): number {
  return FIXED_BYTES + Buffer.byteLength(annotationId + messageId + text + author);
}

function checkRoom(held: readonly Held[], message: Entry, sessionId: string): void {
  const session = JSON.stringify(sessionId);
  if (held.length >= MOST_ANNOTATIONS) {
    const text = `Session ${session} has ${held.length} annotations; at most ${MOST_ANNOTATIONS} are allowed`;
    throw new DomainError("resource_exhausted", text);
  }
  const ofMessage = held.filter(({ entry }) => isSameMessage(entry, message)).length;
  if (ofMessage < MOST_ANNOTATIONS_OF_MESSAGE) return;
  const text = `Message ${JSON.stringify(message.id)} of session ${session} has ${ofMessage} annotations; at most ${MOST_ANNOTATIONS_OF_MESSAGE} are allowed`;
  throw new DomainError("resource_exhausted", text);
}

function taken(annotationId: string, sessionId: string): DomainError {
  const text = `Session ${JSON.stringify(sessionId)} has another annotation ${JSON.stringify(annotationId)}`;
  return new DomainError("already_exists", text);
}
