import type { JsonObject } from "@bufbuild/protobuf";
import type { UIMessage } from "ai";
import type { Usage } from "../../../../src/domain/shapes/counts.js";
import { usageIn } from "../../../../src/domain/shapes/usage-shapes.js";
import { plusUsages } from "../../../../src/domain/shapes/usages.js";
import type { NewMessage, StoredMessage } from "../index.js";
import { idOf } from "./save-plan.js";
import { toUIMetadata } from "./ui-message.js";
import { noteCounted, type SpentStep, uncounted, usageOfAnswer, usageOfSteps } from "./ui-usage.js";
import { fromStoredUsage } from "./usage.js";

/**
 * The usages of messages that are saved. However often the same messages are saved, each step of a run counts once. A
 * process knows which steps it has counted. Of others, it adds a run only to a message that this save changes, or that
 * has no usage yet.
 */
export class SavedUsages {
  readonly #sessionId: string;
  /** The message that the run has written. */
  readonly #writtenId: string | undefined;
  readonly #steps: readonly SpentStep[];

  constructor(sessionId: string, messages: readonly UIMessage[], steps: readonly SpentStep[]) {
    this.#sessionId = sessionId;
    this.#writtenId = messages.findLast(({ role }) => role === "assistant")?.id;
    this.#steps = steps;
  }

  /** Of a message that is appended. One that moves keeps the usage that it has. */
  ofAdded(message: NewMessage, moved: StoredMessage | undefined): Usage | undefined {
    const before = storedUsage(moved);
    const said = message.info?.role === "assistant" ? usageOfMetadata(message) : undefined;
    return this.#withRun(message, before) ?? before ?? said;
  }

  /** The new usage of a stored message whose content stays; undefined for the one that it has. */
  ofUnchanged(stored: StoredMessage): Usage | undefined {
    const before = storedUsage(stored);
    const isKnown = this.#uncounted(stored).length < this.#steps.length;
    return before === undefined || isKnown ? this.#withRun(stored, before) : undefined;
  }

  /** The new usage of a stored message that gets this content; undefined for the one that it has. */
  ofChanged(message: NewMessage, stored: StoredMessage): Usage | undefined {
    if (this.#isWritten(message)) return this.#withRun(message, storedUsage(stored));
    if (message.info?.role !== "assistant") return undefined;
    const said = usageOfMetadata(message);
    return JSON.stringify(said) === JSON.stringify(usageOfMetadata(stored)) ? undefined : said;
  }

  /** Notes that the run is counted. Called once everything is stored. */
  noteAll(): void {
    if (this.#writtenId !== undefined) noteCounted(this.#steps, this.#sessionId, this.#writtenId);
  }

  /** What the message took before and the run added to that; undefined when the run adds nothing. */
  #withRun(message: NewMessage | StoredMessage, before: Usage | undefined): Usage | undefined {
    if (!this.#isWritten(message)) return undefined;
    // What has no usage has lost it, or never got it.
    const run = usageOfSteps(before === undefined ? this.#steps : this.#uncounted(message));
    const checked = run && usageOfAnswer(undefined, run);
    return checked && plusUsages(before === undefined ? [checked] : [before, checked]);
  }

  #isWritten(message: NewMessage | StoredMessage): boolean {
    return this.#steps.length > 0 && idOf(message) === this.#writtenId;
  }

  #uncounted(message: NewMessage | StoredMessage): readonly SpentStep[] {
    return uncounted(this.#steps, this.#sessionId, idOf(message));
  }
}

function storedUsage(stored: StoredMessage | undefined): Usage | undefined {
  return fromStoredUsage(stored?.info?.usage);
}

function usageOfMetadata({ info }: NewMessage | StoredMessage): Usage | undefined {
  return usageIn(toUIMetadata(info?.metadata as JsonObject | undefined).metadata);
}
