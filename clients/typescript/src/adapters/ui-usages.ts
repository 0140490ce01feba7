import type { JsonObject } from "@bufbuild/protobuf";
import type { UIMessage } from "ai";
import type { Usage } from "../../../../src/domain/shapes/counts.js";
import { usageIn } from "../../../../src/domain/shapes/usage-shapes.js";
import { plusUsages } from "../../../../src/domain/shapes/usages.js";
import type { NewMessage, StoredMessage } from "../index.js";
import { idOf } from "./save-plan.js";
import { toUIMetadata } from "./ui-message.js";
import { usageOfAnswer } from "./ui-usage.js";
import { fromStoredUsage } from "./usage.js";

/**
 * The usages of messages that are saved. However often the same messages are saved, each run counts once: it is added
 * only to a message that this save changes, or that has no usage yet.
 */
export class SavedUsages {
  /** The message that the run has written. */
  readonly #writtenId: string | undefined;
  readonly #run: Usage | undefined;

  constructor(messages: readonly UIMessage[], run: Usage | undefined) {
    this.#writtenId = messages.findLast(({ role }) => role === "assistant")?.id;
    this.#run = run && usageOfAnswer(undefined, run);
  }

  /** Of a message that is appended. One that moves keeps the usage that it has. */
  ofAdded(message: NewMessage, moved: StoredMessage | undefined): Usage | undefined {
    const said = message.info?.role === "assistant" ? usageOfMetadata(message) : undefined;
    return this.#runOf(message) ?? storedUsage(moved) ?? said;
  }

  /** The new usage of a stored message whose content stays; undefined for the one that it has. */
  ofUnchanged(stored: StoredMessage): Usage | undefined {
    return storedUsage(stored) === undefined ? this.#runOf(stored) : undefined;
  }

  /** The new usage of a stored message that gets this content; undefined for the one that it has. */
  ofChanged(message: NewMessage, stored: StoredMessage): Usage | undefined {
    const before = storedUsage(stored);
    const run = this.#runOf(message);
    if (run !== undefined) return plusUsages(before === undefined ? [run] : [before, run]);
    if (message.info?.role !== "assistant") return undefined;
    const said = usageOfMetadata(message);
    return JSON.stringify(said) === JSON.stringify(usageOfMetadata(stored)) ? undefined : said;
  }

  #runOf(message: NewMessage | StoredMessage): Usage | undefined {
    return idOf(message) === this.#writtenId ? this.#run : undefined;
  }
}

function storedUsage(stored: StoredMessage | undefined): Usage | undefined {
  return fromStoredUsage(stored?.info?.usage);
}

function usageOfMetadata({ info }: NewMessage | StoredMessage): Usage | undefined {
  return usageIn(toUIMetadata(info?.metadata as JsonObject | undefined).metadata);
}
