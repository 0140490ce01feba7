import type { ClientSession } from "mongodb";
import { type Call, checkCall } from "../../domain/call.js";
import { untilCallEnd } from "../../domain/call-end.js";
import { repeat } from "../history/repeat.js";
import { isUnknownOutcome, mongoError, wasRefused } from "./mongo-errors.js";

/** Gives each command a session in which the driver records the time of the answer. */
export interface AnswerTimes {
  /** Absent where answers carry no time. */
  start(): ClientSession | undefined;
  /** Reads the time of the answer from the session. */
  end(session: ClientSession): void;
}

/** Driver options that end an operation in time. */
export interface WriteLimits {
  readonly timeoutMS: number;
  /** Receives the time of the answer; absent where answers carry none. */
  readonly session?: ClientSession;
}

/** The limits that the driver gets with a read, which can also be canceled at the server. */
export interface ReadLimits extends WriteLimits {
  readonly signal?: AbortSignal;
}

/** Sends commands through the driver within the limits of a call, and maps every error. */
export class MongoCommands {
  readonly #timeoutMs: number;
  readonly #times: AnswerTimes | undefined;

  constructor(timeoutMs: number, times?: AnswerTimes) {
    this.#timeoutMs = timeoutMs;
    this.#times = times;
  }

  /** Rejects with DomainError only. A write that was canceled continues at the server, but nobody waits for it. */
  async write<T>(call: Call | undefined, send: (limits: WriteLimits) => Promise<T>): Promise<T> {
    checkCall(call);
    const endsAtDeadline = this.#endsAtDeadline(call);
    try {
      return await untilCallEnd(this.#timed(send, { timeoutMS: this.#timeoutFor(call) }), { signal: call?.signal });
    } catch (error) {
      if (call?.signal?.aborted) checkCall(call);
      const isOver = call?.deadlineMs !== undefined && Date.now() >= call.deadlineMs;
      throw mongoError(error, { endsAtDeadline, isOver });
    }
  }

  read<T>(call: Call | undefined, send: (limits: ReadLimits) => Promise<T>): Promise<T> {
    const signal = call?.signal;
    return this.write(call, (limits) => send(signal ? { ...limits, signal } : limits));
  }

  /** For writes that must not happen twice: repeats one only when the server has certainly not carried it out. */
  writeOnce<T>(call: Call | undefined, send: (limits: WriteLimits) => Promise<T>): Promise<T> {
    return this.#repeat(call, wasRefused, () => this.write(call, send));
  }

  /**
   * Repeats an attempt until its outcome is known. `attempt` must be safe to repeat; `isRepeat` tells it that an
   * earlier attempt may have been carried out, or may still be. Gives up with the last error at the caller's deadline,
   * or when the time of one operation is over.
   */
  settle<T>(call: Call | undefined, attempt: (isRepeat: boolean) => Promise<T>): Promise<T> {
    return this.#repeat(call, isUnknownOutcome, attempt);
  }

  #repeat<T>(
    call: Call | undefined,
    mayRepeat: (error: unknown) => boolean,
    attempt: (isRepeat: boolean) => Promise<T>,
  ): Promise<T> {
    return repeat(attempt, { call, timeoutMs: this.#timeoutMs, mayRepeat, wasRefused });
  }

  /** The time of the answer is recorded before the caller gets the answer. */
  async #timed<T>(send: (limits: WriteLimits) => Promise<T>, limits: WriteLimits): Promise<T> {
    const session = this.#times?.start();
    if (!session) return send(limits);
    try {
      return await send({ ...limits, session });
    } finally {
      this.#times?.end(session);
    }
  }

  #endsAtDeadline(call: Call | undefined): boolean {
    return call?.deadlineMs !== undefined && call.deadlineMs - Date.now() <= this.#timeoutMs;
  }

  /** At least 1, because 0 means no limit to the driver. */
  #timeoutFor(call: Call | undefined): number {
    if (call?.deadlineMs === undefined) return this.#timeoutMs;
    return Math.max(1, Math.ceil(Math.min(call.deadlineMs - Date.now(), this.#timeoutMs)));
  }
}
