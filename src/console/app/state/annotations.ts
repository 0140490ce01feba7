import { computed, signal } from "@preact/signals";
import {
  type AnnotationContent,
  createAnnotation,
  deleteAnnotation,
  listAnnotations,
  updateAnnotation,
} from "../api/annotations.js";
import { storageKey } from "../api/base.js";
import { ApiError, CODE } from "../api/http.js";
import { ticket } from "../api/ticket.js";
import type { Annotation, Thumb } from "../api/types.js";
import { attempt, toast } from "./toasts.js";
import { newId } from "./unsent-files.js";

const KEY = storageKey("session-pool-author");
const NONE: readonly Annotation[] = [];

/** The only author of notes that the ticket in the address permits; undefined when it permits any. */
export const fixedAuthor = ticket?.owner;

/** Who writes notes with this browser, as it was last said. */
export const author = signal(fixedAuthor ?? storedAuthor());

export function storeAuthor(name: string): void {
  author.value = name;
  try {
    localStorage.setItem(KEY, name);
  } catch {
    // The browser stores nothing for this page, so the name is forgotten with it.
  }
}

function storedAuthor(): string {
  try {
    return localStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}

/** The notes and the feedback on the messages of one session. Nothing tells of those that others write meanwhile. */
export class Annotations {
  readonly all = signal<readonly Annotation[]>(NONE);
  /** By message. */
  readonly byMessage = computed(() => {
    const found = new Map<string, Annotation[]>();
    for (const one of this.all.value) found.set(one.messageId, [...(found.get(one.messageId) ?? []), one]);
    return found;
  });
  /** The thumb that was given last, whose reason the reader may add. */
  readonly asked = signal<{ readonly annotationId: string; readonly isByKey: boolean } | undefined>(undefined);
  readonly #sessionId: string;
  readonly #signal: AbortSignal;

  constructor(sessionId: string, signal: AbortSignal) {
    this.#sessionId = sessionId;
    this.#signal = signal;
  }

  of(messageId: string): readonly Annotation[] {
    return this.byMessage.value.get(messageId) ?? NONE;
  }

  /** Reads all of them. What cannot be read is missing from the page, which works without it. */
  async read(): Promise<void> {
    try {
      this.all.value = await readAnnotations(this.#sessionId, this.#signal);
    } catch {
      // A server without annotations, or one that cannot be reached, which the header says.
    }
  }

  async add(messageId: string, content: AnnotationContent, annotationId = newId()): Promise<void> {
    this.#put(await createAnnotation(this.#sessionId, { annotationId, messageId, ...content }));
  }

  async change(annotationId: string, content: AnnotationContent): Promise<void> {
    this.#put(await updateAnnotation(this.#sessionId, annotationId, content));
  }

  async remove({ annotationId }: Annotation): Promise<void> {
    try {
      await deleteAnnotation(this.#sessionId, annotationId);
    } catch (error) {
      // Somebody else has removed it.
      if (!(error instanceof ApiError && error.code === CODE.notFound)) throw error;
    }
    this.all.value = this.all.peek().filter((one) => one.annotationId !== annotationId);
    if (this.asked.peek()?.annotationId === annotationId) this.ask(undefined);
  }

  /** Removes a note and offers to write it again. */
  removeWithUndo(one: Annotation): void {
    void attempt("Deleting the note", async () => {
      await this.remove(one);
      const { messageId, thumb, text, author } = one;
      const run = () => void attempt("Undo", () => this.add(messageId, { thumb, text, author }));
      toast("The note is deleted", { action: { label: "Undo", run }, until: this.#signal, key: "note" });
    });
  }

  /** The thumb that this reader has given a message. */
  thumbOf(messageId: string): Thumb {
    return this.#own(messageId)?.thumb ?? "";
  }

  /**
   * Gives a message a thumb, turns it, or takes it back when it is the same. What was written beside it stays. Then
   * asks for a reason where there is none; `isByKey` says that the thumb was given by a key, so that the next key may
   * be typed there.
   */
  rate(messageId: string, thumb: Exclude<Thumb, "">, isByKey = false): void {
    void attempt("Feedback", async () => {
      const own = this.#own(messageId);
      const annotationId = own?.annotationId ?? newId();
      const { text = "", author: who = author.peek() } = own ?? {};
      const given = own?.thumb === thumb ? "" : thumb;
      if (own === undefined) await this.add(messageId, { thumb, text, author: who }, annotationId);
      else if (given === "" && text === "") await this.remove(own);
      else await this.change(annotationId, { thumb: given, text, author: who });
      this.ask(given !== "" && text === "" ? { annotationId, isByKey } : undefined);
    });
  }

  /** Asks for the reason of a thumb, or no longer asks. */
  ask(asked: { readonly annotationId: string; readonly isByKey: boolean } | undefined): void {
    this.asked.value = asked;
  }

  /** Adds a reason to a thumb. Resolves to whether that has worked. */
  explain({ annotationId, thumb, author: who }: Annotation, text: string): Promise<boolean> {
    return attempt("The note", async () => {
      await this.change(annotationId, { thumb, text, author: who });
      this.ask(undefined);
    });
  }

  /** A caller that is bound to an owner writes as that owner, whatever name was said here. */
  #own(messageId: string): Annotation | undefined {
    const notes = this.of(messageId).filter(({ thumb }) => thumb !== "");
    return notes.find((one) => mine.has(one.annotationId)) ?? notes.find((one) => one.author === author.value);
  }

  #put(annotation: Annotation): void {
    mine.add(annotation.annotationId);
    const others = this.all.peek().filter(({ annotationId }) => annotationId !== annotation.annotationId);
    this.all.value = [...others, annotation];
  }
}

/** The annotations that were written or changed in this tab. */
const mine = new Set<string>();

export async function readAnnotations(sessionId: string, signal: AbortSignal): Promise<readonly Annotation[]> {
  const all: Annotation[] = [];
  let pageToken = "";
  do {
    const page = await listAnnotations(sessionId, pageToken, signal);
    all.push(...(page.annotations ?? []));
    pageToken = page.nextPageToken ?? "";
  } while (pageToken !== "");
  return all;
}
