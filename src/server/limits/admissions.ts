import { Code } from "@connectrpc/connect";
import { ApiError } from "../../api/api-error.js";
import type { ServerLimits } from "../../config/config.js";
import { VALUE_BYTES } from "../../config/server-limits.js";
import { PIECE_BYTES } from "../../domain/attachment.js";
import { countedAs, isOfTicket, type Principal } from "../auth/principal.js";
import type { Connection } from "./connections.js";
import { CHUNK_BYTES } from "./own-chunks.js";
import { TaskLimit } from "./task-limit.js";

/**
 * A call, a stream that goes on until somebody ends it, or a page, which does not count towards the limits of calls and
 * streams.
 */
export type AdmissionKind = "call" | "stream" | "page";

/**
 * How many reads of one key run at a time. A page takes the process some milliseconds, during which nobody else is
 * served.
 */
const READS = 16;

/** What the process or one key uses at present. */
class Share {
  calls = 0;
  streams = 0;
  bytes = 0;
  readonly connections = new Set<Connection>();
  readonly reads = new TaskLimit(READS);

  constructor(
    readonly limits: {
      readonly calls: number;
      readonly streams: number;
      readonly bytes: number;
      readonly connections: number;
      /** The most values of one request. */
      readonly values: number;
    },
    /** How refusals name it: `The server`, `The key "name"`, or `The ticket name`. */
    readonly subject: string,
    /** Called whenever no call is left. */
    readonly onCallsEnded: () => void = () => {},
  ) {}

  get isEmpty(): boolean {
    return this.calls === 0 && this.streams === 0 && this.bytes === 0 && this.connections.size === 0;
  }
}

/** The share of all requests that need no key. */
const NOBODY = "";
/** Reserved for pages, which are served even when callers have used up the memory for requests and answers. */
const PAGE_BYTES = 16 * 1024 * 1024;

/** The piece that is being stored or sent, and the one that fills up or is read meanwhile. */
const TRANSFER_BYTES = 2 * PIECE_BYTES;

/** How much memory a transfer takes besides its messages; `size`: how many bytes it moves, if known. */
export function transferBytes(size: bigint | number | undefined): number {
  return size === undefined || size > TRANSFER_BYTES || size < 0 ? TRANSFER_BYTES : Number(size);
}

export interface AdmissionsOptions {
  /** Whether each key has limits of its own. Each ticket has them in any case. */
  readonly perKey: boolean;
  /** Called whenever no admitted call is without its answer any more. */
  readonly onCallsEnded?: (() => void) | undefined;
}

/**
 * Gives each request its place before its body is read. Beyond a limit of the process or of the request's key, the
 * request is refused with `resource_exhausted`. Also counts the bytes of requests and answers that are waiting in
 * memory.
 */
export class Admissions {
  readonly #process: Share;
  readonly #pages: Share;
  readonly #limits: Share["limits"];
  /** By namespace and name. */
  readonly #shares = new Map<string, Share>();
  /** Unset when everyone without a ticket is the same principal, because the limits of one key would apply to all. */
  readonly #perKey: boolean;

  constructor(serverLimits: ServerLimits, options: AdmissionsOptions) {
    const {
      inFlightCalls: calls,
      watchers: streams,
      bufferedBytes: bytes,
      connections,
      bodyValues: values,
    } = serverLimits;
    const limits = { calls, streams, bytes, connections, values };
    this.#process = new Share(limits, "The server", options.onCallsEnded);
    this.#pages = new Share({ ...limits, bytes: PAGE_BYTES }, "Pages");
    this.#limits = {
      calls: serverLimits.perKey.inFlightCalls,
      streams: serverLimits.perKey.watchers,
      bytes: serverLimits.perKey.bufferedBytes,
      connections: serverLimits.perKey.connections,
      values,
    };
    this.#perKey = options.perKey;
  }

  /** How many calls have been admitted and are not answered yet. */
  get calls(): number {
    return this.#process.calls;
  }

  get bufferedBytes(): number {
    return this.#process.bytes + this.#pages.bytes;
  }

  /** `principal` is undefined for requests that need no key. Throws ApiError. */
  admit(kind: AdmissionKind, principal: Principal | undefined, connection: Connection | undefined): Admission {
    if (kind === "page") return new Admission(kind, this.#pages, undefined, undefined, () => undefined);
    const share = this.#shareOf(principal);
    const forget = () => this.#forget(principal, share);
    try {
      checkPlace(this.#process, kind);
      if (share !== undefined) {
        checkPlace(share, kind);
        if (connection !== undefined) claim(share, connection, forget);
      }
    } catch (error) {
      forget();
      throw error;
    }
    return new Admission(kind, this.#process, share, connection, forget);
  }

  #shareOf(principal: Principal | undefined): Share | undefined {
    if (!this.#perKey && (principal === undefined || !isOfTicket(principal))) return undefined;
    const id = idOf(principal);
    let share = this.#shares.get(id);
    if (share === undefined) {
      share = new Share(this.#limits, subjectOf(principal));
      this.#shares.set(id, share);
    }
    return share;
  }

  #forget(principal: Principal | undefined, share: Share | undefined): void {
    if (share?.isEmpty) this.#shares.delete(idOf(principal));
  }
}

/** The place of one request and the memory that it holds. */
export class Admission {
  readonly #kind: AdmissionKind;
  readonly #process: Share;
  readonly #share: Share | undefined;
  readonly #connection: Connection | undefined;
  readonly #onEnd: () => void;
  #bytes = 0;
  #hasPlace = true;
  #endRead: (() => void) | undefined;
  #hasEnded = false;

  constructor(
    kind: AdmissionKind,
    process: Share,
    share: Share | undefined,
    connection: Connection | undefined,
    onEnd: () => void,
  ) {
    this.#kind = kind;
    this.#process = process;
    this.#share = share;
    this.#connection = connection;
    this.#onEnd = onEnd;
    connection?.enter();
    this.#move(1);
  }

  /** Whether nothing is counted any more. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /**
   * Counts bytes that wait in memory until the end of the request. Throws `resource_exhausted` when there is no room
   * for them.
   */
  hold(bytes: number): void {
    if (this.#hasEnded) return;
    checkRoom(this.#process, bytes);
    if (this.#share !== undefined) checkRoom(this.#share, bytes);
    this.#keep(bytes);
  }

  /**
   * Counts a chunk of a request as it arrives, as {@link hold} does, with the memory that a chunk takes besides its
   * bytes, because a client may send one byte at a time.
   */
  holdChunk(chunk: Buffer): void {
    this.hold(chunk.length + CHUNK_BYTES);
  }

  /** The most values that the request may hold. */
  get mostValues(): number {
    return this.#process.limits.values;
  }

  /** Counts the memory of the values that a request is decoded to, as {@link hold} does. */
  holdValues(count: number): void {
    this.hold(count * VALUE_BYTES);
  }

  /** Releases bytes that were held. */
  release(bytes: number): void {
    if (!this.#hasEnded) this.#keep(-bytes);
  }

  /** How many bytes are held. */
  get heldBytes(): number {
    return this.#bytes;
  }

  /** Releases what is held beyond this many bytes. */
  releaseTo(bytes: number): void {
    this.release(Math.max(0, this.#bytes - bytes));
  }

  /** Runs a read as soon as its key has few enough reads running, which is at once unless it has many already. */
  read(run: () => void): void {
    if (this.#share === undefined) run();
    else this.#endRead = this.#share.reads.start(run);
  }

  /**
   * Called once the request has been answered, so that another may take its place. The answer may still be in memory.
   */
  leave(): void {
    if (!this.#hasPlace) return;
    this.#hasPlace = false;
    this.#endRead?.();
    this.#move(-1);
  }

  /** Called once the client has the answer or has gone. May be called again. */
  end(): void {
    if (this.#hasEnded) return;
    this.leave();
    this.#keep(-this.#bytes);
    this.#hasEnded = true;
    this.#connection?.leave();
    this.#onEnd();
  }

  #move(by: 1 | -1): void {
    if (this.#kind === "page") return;
    const counter = this.#kind === "call" ? "calls" : "streams";
    this.#process[counter] += by;
    if (this.#share !== undefined) this.#share[counter] += by;
    if (counter === "calls" && this.#process.calls === 0) this.#process.onCallsEnded();
  }

  #keep(bytes: number): void {
    this.#bytes += bytes;
    this.#process.bytes += bytes;
    if (this.#share !== undefined) this.#share.bytes += bytes;
  }
}

function idOf(principal: Principal | undefined): string {
  return principal === undefined ? NOBODY : `${principal.namespace}\n${countedAs(principal)}`;
}

function subjectOf(principal: Principal | undefined): string {
  if (principal === undefined) return "Callers without a key";
  return isOfTicket(principal) ? `The ${principal.name}` : `The key ${JSON.stringify(principal.name)}`;
}

function checkPlace({ calls, streams, limits, subject }: Share, kind: AdmissionKind): void {
  if (kind === "call" ? calls < limits.calls : streams < limits.streams) return;
  throw exhausted(subject, kind === "call" ? `${limits.calls} calls` : `${limits.streams} streams`);
}

function checkRoom({ bytes, limits, subject }: Share, more: number): void {
  if (bytes + more <= limits.bytes) return;
  throw exhausted(subject, `${limits.bytes} bytes of requests and answers`);
}

function claim(share: Share, connection: Connection, onEnd: () => void): void {
  const { connections, limits, subject } = share;
  if (connections.has(connection)) return;
  if (connections.size >= limits.connections) throw exhausted(subject, `${limits.connections} connections`);
  connections.add(connection);
  connection.onEnd(() => {
    connections.delete(connection);
    onEnd();
  });
}

function exhausted(subject: string, what: string): ApiError {
  return new ApiError(Code.ResourceExhausted, `${subject} may have ${what} at a time; try again later`);
}
