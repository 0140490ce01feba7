import { permits, permitsRemembered } from "../../../domain/access.js";
import { type Call, checkCall } from "../../../domain/call.js";
import type { NewChatMessage } from "../../../domain/chat-message.js";
import { invalidArgument, notFound } from "../../../domain/errors.js";
import type { NamedAttachment } from "../../../domain/message-body.js";
import { checkIdsDiffer } from "../../../domain/validate-message.js";
import type { TurnAppend, TurnOutcome } from "../../storage-provider.js";
import type { ResolvedHistoryOptions } from "../history-options.js";
import type { SessionRecord } from "../session-record.js";

/** A message with its id. */
export interface MessageWithId {
  readonly id: string;
  /** Whether the service has just made the id, so that nobody else can know it. */
  readonly isMade: boolean;
  readonly message: TurnAppend["messages"][number];
  /** The time to store it with when it has none and no later message exists; now when absent. */
  readonly atMicros?: number | undefined;
  /** The attachments that it names, once they were looked up. */
  readonly attachments?: readonly NamedAttachment[] | undefined;
}

/** One of the appends that are stored together. */
export interface Job {
  /** Its index among them. */
  readonly index: number;
  readonly given: readonly MessageWithId[];
  readonly expectedPosition: number | undefined;
  readonly call: Call | undefined;
  /** The draft whose message this is. */
  readonly draft?: DraftJob | undefined;
}

/** What is different when the message of a finished draft is appended. */
export interface DraftJob {
  /** The draft's log. The message is appended only while the record names the draft as open. */
  readonly log: string;
  /** The message under another id, which is appended instead when another message has taken the draft's id. */
  readonly renamed: MessageWithId;
}

/** Both forms that the message of a finished draft may have. */
export interface DraftMessages {
  readonly own: NewChatMessage & { readonly id: string };
  /**
   * The form for a draft whose id another message has taken. Its id is the name of the draft's log, and its metadata
   * holds the draft's original id.
   */
  readonly renamed: NewChatMessage & { readonly id: string };
}

/**
 * Gives every message its id. invalid_argument: there is no message, an id occurs twice, or a timestamp is too far
 * ahead.
 */
export function jobOf({ messages, options }: TurnAppend, index: number, own: ResolvedHistoryOptions): Job {
  if (messages.length === 0) throw invalidArgument("messages is empty; at least 1 message is required");
  checkNotAhead(messages, own);
  const given = messages.map((message) => ({
    id: message.id || own.newMessageId(),
    isMade: !message.id,
    message,
  }));
  checkIdsDiffer(given);
  return { index, given, expectedPosition: options?.expectedPosition, call: options };
}

/** invalid_argument: a timestamp is too far ahead. */
export function checkNotAhead(messages: TurnAppend["messages"], own: ResolvedHistoryOptions): void {
  const { futureMs } = own.limits;
  const latest = own.nowMicros() + futureMs * 1000;
  for (const { timestampMicros } of messages) {
    if (timestampMicros !== undefined && timestampMicros > latest) {
      throw invalidArgument(`timestamp is more than ${futureMs / 1000} s ahead of the service's clock`);
    }
  }
}

/** Whether a message of the job names attachments, which have to be looked up. */
export function namesAttachments({ given }: Job): boolean {
  return given.some(({ message: { parts } }) => parts.some(({ attachment }) => attachment !== undefined));
}

/** Those of the appends that have no outcome yet, in order. */
export class PendingJobs {
  readonly #outcomes: TurnOutcome[];
  #jobs: readonly Job[];

  /** `outcomes` receives the outcome of each job at the job's index. */
  constructor(jobs: readonly Job[], outcomes: TurnOutcome[]) {
    this.#jobs = jobs;
    this.#outcomes = outcomes;
  }

  get all(): readonly Job[] {
    return this.#jobs;
  }

  /** The call that limits a write for all jobs. It lasts as long as the most patient caller waits. */
  get call(): Call | undefined {
    if (this.#jobs.length === 1) return this.#jobs[0]?.call;
    const deadlines = this.#jobs.map(({ call }) => call?.deadlineMs ?? Number.POSITIVE_INFINITY);
    const deadlineMs = Math.max(...deadlines);
    return Number.isFinite(deadlineMs) ? { deadlineMs } : undefined;
  }

  /** Gives the first `count` jobs their outcomes. */
  settle(count: number, outcomeAt: (i: number) => TurnOutcome): void {
    for (const [i, job] of this.#jobs.slice(0, count).entries()) this.#outcomes[job.index] = outcomeAt(i);
    this.#jobs = this.#jobs.slice(count);
  }

  /** Removes the jobs whose calls have ended. Returns whether any are left. */
  dropEnded(): boolean {
    return this.#dropUnless(({ call }) => checkCall(call));
  }

  /** Whether a record that was read some time ago shows that all callers may see the session. */
  areAllPermittedBy(record: SessionRecord): boolean {
    // Rule: remembered-admits-owners.
    return this.#jobs.every(({ call }) => permitsRemembered(call, record));
  }

  /** Removes the jobs whose callers may not see the session. Returns whether any are left. */
  dropForeign(record: SessionRecord): boolean {
    return this.#dropUnless(({ call }) => {
      if (!permits(call, record)) throw notFound("Session", record.sessionId);
    });
  }

  #dropUnless(check: (job: Job) => void): boolean {
    this.#jobs = this.#jobs.filter((job) => {
      try {
        check(job);
        return true;
      } catch (error) {
        this.#outcomes[job.index] = { ok: false, error };
        return false;
      }
    });
    return this.#jobs.length > 0;
  }
}
