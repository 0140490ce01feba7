import type { Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type { Span } from "@opentelemetry/api";
import { type ApiError, toApiError } from "../api/error-mapping.js";
import type { ApiContext, ApiMethod } from "../api/method-table.js";
import type { LoadLimits } from "../config.js";
import { DomainError } from "../domain/errors.js";
import type { Authenticator } from "./auth.js";
import { codeName } from "./code-name.js";
import type { Caller, FrontCall, Principal, Scope } from "./front-call.js";
import type { Logger } from "./logging.js";
import type { Metrics } from "./metrics.js";
import { endSpan, withSpan } from "./tracing.js";
import { WatchedStream } from "./watched-stream.js";

export interface CallerOptions {
  readonly authenticator: Authenticator;
  readonly rootPoolFor: (namespace: string) => ApiContext["rootPool"];
  readonly limits: ApiContext["limits"];
  readonly load: LoadLimits;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** Whether spans are recorded; without it none are made. */
  readonly tracing: boolean;
}

const SCOPE_RANK: Record<Scope, number> = { read: 0, write: 1, admin: 2 };

/** Longest time that a timer of Node can be set to. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The checks around every implementation, once for all fronts. */
export class CheckedCaller implements Caller {
  readonly #options: CallerOptions;
  readonly #streams = new Set<WatchedStream>();
  #inFlight = 0;
  #openStreams = 0;
  #stopping = false;
  #onIdle: (() => void) | undefined;

  constructor(options: CallerOptions) {
    this.#options = options;
    options.metrics.track(this);
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get openStreams(): number {
    return this.#openStreams;
  }

  authenticate(header: (name: string) => string | undefined): Promise<Principal> {
    const { authenticator } = this.#options;
    return authenticator.everyone ?? this.#identify(authenticator, header("authorization"));
  }

  async #identify(authenticator: Authenticator, authorization: string | undefined): Promise<Principal> {
    try {
      return await authenticator.authenticate(authorization);
    } catch (error) {
      const answer = toApiError(error);
      if (answer.code === Code.Unauthenticated) this.#options.metrics.refusedKeys.inc();
      else this.#options.logger.error({ err: answer.cause }, "Authentication failed");
      throw answer;
    }
  }

  unary(method: ApiMethod, request: Message, call: FrontCall): Promise<Message> {
    if (!this.#options.tracing) return this.#unary(method, request, call);
    return withSpan(method, call, (span) => this.#unary(method, request, call, span));
  }

  stream(method: ApiMethod, request: Message, call: FrontCall): Promise<AsyncIterable<Message>> {
    if (!this.#options.tracing) return this.#stream(method, request, call);
    return withSpan(method, call, (span) => this.#stream(method, request, call, span));
  }

  /** Refuses new calls and ends all streams with `unavailable`; resolves when no call is being answered any more. */
  async stop(): Promise<void> {
    this.#stopping = true;
    for (const stream of this.#streams) stream.end(stoppingError());
    if (this.#inFlight === 0) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
  }

  /** One promise from here to the implementation: each async function in between would cost a tenth of a small call. */
  #unary(method: ApiMethod, request: Message, call: FrontCall, span?: Span): Promise<Message> {
    const begun = performance.now();
    this.#inFlight += 1;
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      let isAnswered = false;
      const end = (failure: ApiError | undefined): boolean => {
        if (isAnswered) return false;
        isAnswered = true;
        clearTimeout(timer);
        this.#leave();
        this.#observe(method, call, begun, failure, span);
        return true;
      };
      const succeed = (response: Message) => {
        if (end(undefined)) resolve(response);
      };
      const fail = (error: unknown) => {
        const failure = toApiError(error);
        if (end(failure)) reject(failure);
      };
      try {
        const leftMs = this.#checkUnary(method, call);
        const context = this.#context(call, Date.now() + leftMs, call.signal);
        timer = setTimeout(() => fail(deadlineError()), leftMs);
        this.#implementation(method)(request, context).then(succeed, fail);
      } catch (error) {
        fail(error);
      }
    });
  }

  /** Throws unless the call may begin; returns how long it may take. */
  #checkUnary(method: ApiMethod, call: FrontCall): number {
    this.#admit(method, call.principal);
    this.#checkInFlight();
    if (call.signal.aborted) throw canceledError();
    const { unaryDeadlineMs } = this.#options.load;
    if (call.deadlineMs === undefined) return unaryDeadlineMs;
    const leftMs = Math.min(call.deadlineMs - Date.now(), unaryDeadlineMs);
    if (leftMs <= 0) throw deadlineError();
    return leftMs;
  }

  #implementation(method: ApiMethod): NonNullable<ApiMethod["unary"]> {
    if (method.unary === undefined) throw new DomainError("unimplemented", `${method.desc.name} is a stream`);
    return method.unary;
  }

  async #stream(method: ApiMethod, request: Message, call: FrontCall, span?: Span): Promise<AsyncIterable<Message>> {
    const begun = performance.now();
    this.#openStreams += 1;
    const onEnd = (failure: ApiError | undefined) => {
      this.#openStreams -= 1;
      this.#observe(method, call, begun, failure, span);
    };
    try {
      this.#admit(method, call.principal);
      this.#checkWatchers();
      return await this.#follow(method, request, call, onEnd);
    } catch (error) {
      const failure = toApiError(error);
      onEnd(failure);
      throw failure;
    }
  }

  async #follow(
    method: ApiMethod,
    request: Message,
    call: FrontCall,
    onEnd: (failure: ApiError | undefined) => void,
  ): Promise<WatchedStream> {
    if (call.signal.aborted) throw canceledError();
    if (method.stream === undefined) throw new DomainError("unimplemented", `${method.desc.name} is not a stream`);
    const leftMs = call.deadlineMs === undefined ? undefined : Math.max(0, call.deadlineMs - Date.now());
    const stopped = new AbortController();
    const beginning = method.stream(request, this.#context(call, call.deadlineMs, stopped.signal));
    const events = await before(Math.min(leftMs ?? LONGEST_TIMER_MS, LONGEST_TIMER_MS), call.signal, beginning).catch(
      (error: unknown) => {
        stopped.abort();
        throw error;
      },
    );
    const timer = leftMs === undefined ? undefined : setTimeout(() => stream.end(deadlineError()), leftMs);
    const onAbort = () => stream.end(canceledError());
    const stream = new WatchedStream(events, {
      toError: toApiError,
      onLateError: (err) => this.#options.logger.warn({ err }, "A stream failed while it was being closed"),
      onEnd: (failure) => {
        clearTimeout(timer);
        call.signal.removeEventListener("abort", onAbort);
        this.#streams.delete(stream);
        stopped.abort();
        onEnd(failure as ApiError | undefined);
      },
    });
    this.#streams.add(stream);
    call.signal.addEventListener("abort", onAbort);
    if (call.signal.aborted) onAbort();
    if (this.#stopping) stream.end(stoppingError());
    return stream;
  }

  #context(call: FrontCall, deadlineMs: number | undefined, signal: AbortSignal): ApiContext {
    const { rootPoolFor, limits } = this.#options;
    return { rootPool: rootPoolFor(call.principal.namespace), limits, deadlineMs, signal };
  }

  #admit(method: ApiMethod, principal: Principal): void {
    if (this.#stopping) throw stoppingError();
    if (SCOPE_RANK[principal.scope] < SCOPE_RANK[method.scope]) {
      const text = `The key ${JSON.stringify(principal.name)} has the scope ${principal.scope}; ${method.desc.name} needs ${method.scope}`;
      throw new DomainError("permission_denied", text);
    }
  }

  #checkInFlight(): void {
    const { inFlightCalls } = this.#options.load;
    if (this.#inFlight <= inFlightCalls) return;
    throw new DomainError("resource_exhausted", `The server answers ${inFlightCalls} calls at a time; try again later`);
  }

  #checkWatchers(): void {
    const { watchers } = this.#options.load;
    if (this.#openStreams <= watchers) return;
    throw new DomainError("resource_exhausted", `The server serves ${watchers} streams at a time; try again later`);
  }

  #leave(): void {
    this.#inFlight -= 1;
    if (this.#inFlight === 0) this.#onIdle?.();
  }

  #observe(
    method: ApiMethod,
    call: FrontCall,
    begun: number,
    failure: ApiError | undefined,
    span: Span | undefined,
  ): void {
    const elapsedMs = performance.now() - begun;
    this.#options.metrics.observe(method, call.front, elapsedMs / 1000, failure?.code);
    if (span !== undefined) endSpan(span, failure);
    this.#log(method, call, elapsedMs, failure);
  }

  #log(method: ApiMethod, call: FrontCall, elapsedMs: number, failure: ApiError | undefined): void {
    const { logger } = this.#options;
    const level = logLevelOf(failure);
    if (!logger.isLevelEnabled(level)) return;
    const { name: key, namespace } = call.principal;
    const fields = {
      method: method.desc.name,
      front: call.front,
      key,
      namespace,
      elapsedMs: Math.round(elapsedMs * 10) / 10,
    };
    if (failure === undefined) logger[level](fields, "Call");
    else logger[level]({ ...fields, code: codeName(failure.code), err: failure.cause }, "Call failed");
  }
}

function logLevelOf(failure: ApiError | undefined): "debug" | "info" | "warn" | "error" {
  if (failure === undefined) return "debug";
  if (failure.code === Code.Internal) return "error";
  const { code } = failure;
  if (code === Code.Unavailable || code === Code.DeadlineExceeded || code === Code.ResourceExhausted) return "warn";
  return "debug";
}

/** Settles as `work` does, or at the latest after `leftMs` or when the caller has gone. */
function before<T>(leftMs: number, signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    };
    const onAbort = () => {
      end();
      reject(canceledError());
    };
    const timer = setTimeout(() => {
      end();
      reject(deadlineError());
    }, leftMs);
    signal.addEventListener("abort", onAbort);
    work.then(
      (value) => {
        end();
        resolve(value);
      },
      (error: unknown) => {
        end();
        reject(error);
      },
    );
  });
}

function deadlineError(): DomainError {
  return new DomainError("deadline_exceeded", "The deadline has passed");
}

function canceledError(): DomainError {
  return new DomainError("canceled", "The call was canceled");
}

function stoppingError(): DomainError {
  return new DomainError("unavailable", "The server is stopping");
}
