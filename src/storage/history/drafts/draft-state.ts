import type { Draft, DraftDelta } from "../../../domain/draft.js";
import { DraftContent } from "../../../domain/draft-content.js";
import type { JsonObject } from "../../../domain/json.js";
import type { Usage } from "../../../domain/usage.js";
import type { DraftRef, Entry } from "../log-store.js";
import { type DraftStep, toStep } from "./draft-entry.js";

/** A draft built from the entries of its log, one after another. */
export class DraftState {
  #version = 0;
  #role = "";
  #metadata: JsonObject | undefined;
  #usage: Usage | undefined;
  #content = new DraftContent([]);
  #startTimeMicros = 0;
  #updateTimeMicros = 0;
  #end: "finished" | "discarded" | null = null;

  /** The place of the last entry; 0 when there is none. */
  get version(): number {
    return this.#version;
  }

  /** The verdict, which is the last entry; null when there is none yet. */
  get end(): "finished" | "discarded" | null {
    return this.#end;
  }

  get role(): string {
    return this.#role;
  }

  get metadata(): JsonObject | undefined {
    return this.#metadata;
  }

  get usage(): Usage | undefined {
    return this.#usage;
  }

  get content(): DraftContent {
    return this.#content;
  }

  get updateTimeMicros(): number {
    return this.#updateTimeMicros;
  }

  /**
   * Applies the next entry and returns its step; returns null for an entry that is not the next one, which is ignored.
   */
  apply(entry: Entry): DraftStep | null {
    if (entry.seq !== this.#version + 1 || this.#end !== null) return null;
    const step = toStep(entry);
    this.#version = entry.seq;
    this.#updateTimeMicros = entry.timestampMicros;
    if (step.kind === "started") {
      this.#role = step.role;
      this.#metadata = step.metadata;
      this.#usage = step.usage;
      this.#content = new DraftContent(step.parts);
      this.#startTimeMicros = entry.timestampMicros;
    } else if (step.kind === "discarded") {
      this.#end = "discarded";
    } else {
      this.#content.apply(step.deltas);
      if (step.kind === "finished") {
        this.#end = "finished";
        this.#metadata = withFields(this.#metadata, step.metadata);
        this.#usage = step.usage ?? this.#usage;
      }
    }
    return step;
  }

  /** The draft in its current state. */
  draft({ messageId, timestampMicros, discardWhenAbandoned }: DraftRef, sessionId: string): Draft {
    return {
      message: {
        id: messageId,
        sessionId,
        role: this.#role,
        timestampMicros: timestampMicros ?? undefined,
        parts: this.#content.parts,
        metadata: this.#metadata,
        usage: this.#usage,
      },
      version: this.#version,
      startTimeMicros: this.#startTimeMicros,
      updateTimeMicros: this.#updateTimeMicros,
      discardWhenAbandoned,
    };
  }
}

/** The metadata with additional fields, which replace those with the same name. */
export function withFields(metadata: JsonObject | undefined, more: JsonObject | undefined): JsonObject | undefined {
  if (metadata === undefined || more === undefined) return metadata ?? more;
  // fromEntries defines keys, whereas assignment would treat `__proto__` as the prototype.
  return Object.fromEntries([...Object.entries(metadata), ...Object.entries(more)]);
}

/** The deltas that a step adds. */
export function deltasOf(step: DraftStep | null): readonly DraftDelta[] {
  return step?.kind === "extended" || step?.kind === "finished" ? step.deltas : [];
}
