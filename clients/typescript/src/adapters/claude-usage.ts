import { isFields, type Usage, valueAt } from "../../../../src/domain/shapes/counts.js";
import { usageIn } from "../../../../src/domain/shapes/usage-shapes.js";
import type { NewMessage } from "../index.js";
import type { SessionStoreEntry } from "./claude-entries.js";
import { withUsage } from "./usage.js";

/** An entry as a message. */
interface Kept {
  readonly entry: SessionStoreEntry;
  readonly message: NewMessage;
}

/** The message that has the usage of a response, and that usage. */
interface Counted {
  readonly messageId: string;
  readonly usage: string;
}

/** Messages with their usages, and those messages that other calls have stored and whose usage has grown since. */
export interface UsagePlan {
  readonly messages: NewMessage[];
  readonly grown: readonly { readonly messageId: string; readonly usage: Usage }[];
}

const MOST_RESPONSES = 10_000;
/** The model that the SDK names where none was called, such as in the message of an error. */
const NO_MODEL = "<synthetic>";

/**
 * Counts each response of the model once. A response is several entries, one for each block, which all repeat its usage;
 * the number of tokens that it wrote is whole only in the last one. The first entry of a response has its usage, with
 * the numbers of the last.
 */
export class ResponseUsages {
  readonly #counted = new Map<string, Counted>();

  /** Plans the usages of entries that are added together. `noteAll` is to be called once they are stored. */
  plan(sessionId: string, kept: readonly Kept[]): UsagePlan & { readonly noteAll: () => void } {
    const found = new Map<string, { messageId: string; usage: Usage }>();
    for (const { entry, message } of kept) {
      const response = responseOf(entry);
      const usage = response === undefined ? undefined : usageIn(entry.message);
      if (response === undefined || usage === undefined) continue;
      const name = JSON.stringify([sessionId, response]);
      const messageId = this.#counted.get(name)?.messageId ?? found.get(name)?.messageId ?? message.info?.id ?? "";
      found.set(name, { messageId, usage });
    }
    const own = new Set(kept.map(({ message }) => message.info?.id));
    const usages = new Map([...found.values()].map(({ messageId, usage }) => [messageId, usage]));
    const isGrown = ([name, { messageId, usage }]: [string, { messageId: string; usage: Usage }]) =>
      !own.has(messageId) && this.#counted.get(name)?.usage !== JSON.stringify(usage);
    return {
      messages: kept.map(({ message }) => withUsage(message, usages.get(message.info?.id ?? ""))),
      grown: [...found].filter(isGrown).map(([, one]) => one),
      noteAll: () => {
        for (const [name, one] of found) this.#note(name, one.messageId, one.usage);
      },
    };
  }

  #note(name: string, messageId: string, usage: Usage): void {
    this.#counted.delete(name);
    this.#counted.set(name, { messageId, usage: JSON.stringify(usage) });
    const [oldest = ""] = this.#counted.keys();
    if (this.#counted.size > MOST_RESPONSES) this.#counted.delete(oldest);
  }
}

/** The id of the response that an entry is from; undefined for entries that no model has written, and for copies. */
function responseOf(entry: SessionStoreEntry): string | undefined {
  // The SDK forks a transcript by copying its entries.
  if (entry.type !== "assistant" || isFields(entry.forkedFrom) || valueAt(entry.message, "model") === NO_MODEL)
    return undefined;
  const id = valueAt(entry.message, "id") ?? entry.uuid;
  return typeof id === "string" ? id : undefined;
}
