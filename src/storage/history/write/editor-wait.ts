import type { Call } from "../../../domain/call.js";
import type { Head, HistoryContext } from "../heads.js";
import type { RecordWriter } from "./record-writer.js";
import { rolloversInRow } from "./rollovers.js";

const MAX_EDITOR_WAIT_MS = 10_000;

/** Gives whoever is editing a history, or writing a batch to it, time to finish. */
export class EditorWait {
  readonly #context: HistoryContext;
  readonly #writer: RecordWriter;

  constructor(context: HistoryContext, writer: RecordWriter) {
    this.#context = context;
    this.#writer = writer;
  }

  /** Reads a head whose log nobody else is closing; null when there is no such session. */
  async settledHead(sessionId: string, call?: Call): Promise<Head | null> {
    const head = await this.#context.load(sessionId, call);
    if (!head || head.state === "open" || this.#writer.sealedHere(head)) return head;
    await this.settle(head, call);
    return this.#context.load(sessionId, call);
  }

  /**
   * Waits until the log of the head is replaced or its batch is complete. If that takes too long, it rolls the log
   * over. The time doubles with every rollover in a row. Rejects when the call ends. Afterwards the caller loads the
   * head again.
   */
  async settle(head: Head, call?: Call): Promise<void> {
    const { options } = this.#context;
    const { record } = head;
    const waitMs = Math.min(options.editorWaitMs * 2 ** rolloversInRow(record, this.#context), MAX_EDITOR_WAIT_MS);
    // Rule: wait-for-editor.
    if (await this.#changesWithin(head, waitMs, call)) return;
    const now = await this.#context.load(record.sessionId, call);
    if (now && now.state !== "open" && now.record.log === record.log) await this.#writer.rollOver(now, call);
  }

  async #changesWithin(head: Head, waitMs: number, call?: Call): Promise<boolean> {
    const { options } = this.#context;
    const until = options.clockMs() + waitMs;
    for (let pauseMs = Math.max(waitMs / 16, 1); ; pauseMs *= 1.5) {
      const leftMs = until - options.clockMs();
      if (leftMs <= 0) return false;
      await options.pause(Math.min(pauseMs, leftMs), call?.signal);
      const now = await this.#context.load(head.record.sessionId, call);
      if (!now || now.state === "open" || now.record.log !== head.record.log) return true;
    }
  }
}
