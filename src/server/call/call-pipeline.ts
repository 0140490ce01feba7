import type { Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type { Span } from "@opentelemetry/api";
import { ApiError } from "../../api/api-error.js";
import { toApiError } from "../../api/error-mapping.js";
import type { ApiContext, ApiMethod } from "../../api/method-table.js";
import type { ServerLimits } from "../../config/config.js";
import type { Call } from "../../domain/call.js";
import { onCallEnd, untilCallEnd } from "../../domain/call-end.js";
import type { Quotas } from "../../domain/quotas.js";
import { type Authenticator, hasTicket } from "../auth/authenticator.js";
import { countedAs, isOfTicket, type Principal, type RequestFacts } from "../auth/principal.js";
import { type Admission, type AdmissionKind, Admissions } from "../limits/admissions.js";
import { CallQuotas } from "../limits/call-quotas.js";
import type { Connection } from "../limits/connections.js";
import type { Logger } from "../logging.js";
import type { CallAudit } from "./call-audit.js";
import { canceledError, checkScope, deadlineError, expiredError, stoppingError } from "./call-errors.js";
import { CallLog } from "./call-log.js";
import type { Arrival, CallPipeline, FrontCall } from "./front-call.js";
import type { Metrics } from "./metrics.js";
import { timedChunks, Uploaded } from "./transfers.js";
import { WatchedStream } from "./watched-stream.js";

/** OpenTelemetry and the code that uses it. It is loaded only when tracing is asked for. */
export type Tracing = typeof import("./tracing.js");

/** The pool of a namespace, which stays open until `release` is called, once. */
export interface PoolUse extends Pick<ApiContext, "rootPool"> {
  release(): void;
}

/** A stream of the server or of a client, which ends with an error when told to. */
type OpenStream = Pick<WatchedStream, "end">;

/** How a call ended. */
interface CallEnd {
  readonly failure: ApiError | undefined;
  readonly response?: Message | undefined;
  readonly span?: Span | undefined;
}

export interface CallPipelineOptions {
  readonly authenticator: Authenticator;
  /** Keeps the pool of a namespace open for one call or stream. */
  readonly usePool: (namespace: string) => PoolUse;
  readonly limits: ApiContext["limits"];
  readonly hidesTodos?: ApiContext["hidesTodos"];
  readonly signTicket?: ApiContext["signTicket"];
  readonly serverLimits: ServerLimits;
  /** None when absent. */
  readonly quotas?: Quotas | undefined;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** Writes the audit log; absent where there is none. */
  readonly audit?: CallAudit | undefined;
  /** Makes spans; without it none are made. */
  readonly tracing?: Pick<Tracing, "withSpan" | "endSpan"> | undefined;
}

/**
 * The checks around every implementation, once for all fronts. The file is long because calls and streams pass the same
 * checks, which share what is in flight.
 */
export class CheckedCallPipeline implements CallPipeline {
  readonly #options: CallPipelineOptions;
  readonly #callLog: CallLog;
  readonly #admissions: Admissions;
  readonly #callQuotas: CallQuotas;
  readonly #streams = new Set<OpenStream>();
  #inFlight = 0;
  #openStreams = 0;
  #stopping = false;
  #onIdle: (() => void) | undefined;

  constructor(options: CallPipelineOptions) {
    this.#options = options;
    this.#callLog = new CallLog(options.logger);
    const hasKeys = options.authenticator.everyone === undefined;
    this.#callQuotas = new CallQuotas(options.quotas ?? {}, { hasKeys });
    this.#admissions = new Admissions(options.serverLimits, {
      perKey: hasKeys,
      onCallsEnded: () => this.#tellIdle(),
    });
    options.metrics.track(this);
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get openStreams(): number {
    return this.#openStreams;
  }

  get bufferedBytes(): number {
    return this.#admissions.bufferedBytes;
  }

  authenticate(request: RequestFacts): Promise<Principal> | Principal {
    const { everyone } = this.#options.authenticator;
    return everyone === undefined || hasTicket(request) ? this.#identify(request) : everyone;
  }

  async #identify(request: RequestFacts): Promise<Principal> {
    try {
      return await this.#options.authenticator.authenticate(request);
    } catch (error) {
      const answer = toApiError(error);
      if (answer.code === Code.Unauthenticated || answer.code === Code.PermissionDenied)
        this.#options.metrics.refusedKeys.inc();
      this.#callLog.refused(request, answer);
      this.refused(request, answer);
      throw answer;
    }
  }

  refused(request: RequestFacts, error: ApiError): void {
    this.#options.audit?.refused(request, error);
  }

  admit(method: ApiMethod, arrival: Arrival): Admission {
    const { principal, connection } = arrival;
    try {
      this.#checkRunning();
      checkScope(method, principal);
      const kind = method.desc.methodKind === "unary" ? "call" : "stream";
      return this.#admitWithin(this.#admissions.admit(kind, principal, connection), principal);
    } catch (error) {
      const failure = toApiError(error);
      this.#observe(method, undefined, arrival, performance.now(), { failure });
      throw failure;
    }
  }

  /** A call that has no place is not counted, so its quotas are looked at last. */
  #admitWithin(admission: Admission, principal: Principal): Admission {
    try {
      this.#callQuotas.take(principal);
      return admission;
    } catch (error) {
      admission.end();
      throw error;
    }
  }

  admitAnyone(kind: AdmissionKind, connection: Connection | undefined): Admission {
    return this.#admissions.admit(kind, undefined, connection);
  }

  unary(method: ApiMethod, request: Message, call: FrontCall): Promise<Message> {
    const { tracing } = this.#options;
    if (tracing === undefined) return this.#unary(method, request, call);
    return tracing.withSpan(method, call, (span) => this.#unary(method, request, call, span));
  }

  stream(method: ApiMethod, request: Message, call: FrontCall): Promise<AsyncIterable<Message>> {
    const { tracing } = this.#options;
    if (tracing === undefined) return this.#stream(method, request, call);
    return tracing.withSpan(method, call, (span) => this.#stream(method, request, call, span));
  }

  upload(method: ApiMethod, first: Message, rest: AsyncIterable<Message>, call: FrontCall): Promise<Message> {
    const { tracing } = this.#options;
    if (tracing === undefined) return this.#upload(method, first, rest, call);
    return tracing.withSpan(method, call, (span) => this.#upload(method, first, rest, call, span));
  }

  /**
   * Refuses new calls and ends all streams with `unavailable`; resolves when all calls that were admitted before have
   * ended. Among them are those whose bodies are still arriving.
   */
  async stop(): Promise<void> {
    this.#stopping = true;
    for (const stream of this.#streams) stream.end(stoppingError());
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
      this.#tellIdle();
    });
  }

  /** A call that undoes another one goes on after the place of its request was given back. */
  #tellIdle(): void {
    if (this.#inFlight === 0 && this.#admissions.calls === 0) this.#onIdle?.();
  }

  /** One promise from here to the implementation: each async function in between would cost a tenth of a small call. */
  #unary(method: ApiMethod, request: Message, call: FrontCall, span?: Span): Promise<Message> {
    const begun = performance.now();
    this.#inFlight += 1;
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      let isAnswered = false;
      const end = (failure: ApiError | undefined, response?: Message): boolean => {
        if (isAnswered) return false;
        isAnswered = true;
        clearTimeout(timer);
        call.admission.leave();
        this.#leave();
        this.#observe(method, request, call, begun, { failure, response, span });
        return true;
      };
      const succeed = (response: Message) => {
        if (end(undefined, response)) resolve(response);
      };
      const fail = (error: unknown) => {
        const failure = toApiError(error);
        if (end(failure)) reject(failure);
      };
      try {
        const leftMs = this.#checkUnary(call);
        const deadlineMs = Date.now() + leftMs;
        timer = setTimeout(() => fail(deadlineError()), leftMs);
        const implementation = this.#implementation(method);
        // The implementation may go on after the call was answered, and needs its pool until then.
        const run = () => {
          const use = this.#options.usePool(call.principal.namespace);
          const leave = <T>(then: (value: T) => void) => {
            return (value: T) => {
              use.release();
              then(value);
            };
          };
          try {
            const context = this.#context(call, use, { deadlineMs, signal: call.signal });
            implementation(request, context).then(leave(succeed), leave(fail));
          } catch (error) {
            leave(fail)(error);
          }
        };
        if (method.scope === "read") call.admission.read(run);
        else run();
      } catch (error) {
        fail(error);
      }
    });
  }

  /** Throws unless the call may begin; returns how long it may take. */
  #checkUnary(call: FrontCall): number {
    if (call.signal.aborted) throw canceledError();
    const { unaryDeadlineMs } = this.#options.serverLimits;
    if (call.deadlineMs === undefined) return unaryDeadlineMs;
    const leftMs = Math.min(call.deadlineMs - Date.now(), unaryDeadlineMs);
    if (leftMs <= 0) throw deadlineError();
    return leftMs;
  }

  #implementation(method: ApiMethod): NonNullable<ApiMethod["unary"]> {
    if (method.unary === undefined) throw new ApiError(Code.Unimplemented, `${method.desc.name} is a stream`);
    return method.unary;
  }

  async #stream(method: ApiMethod, request: Message, call: FrontCall, span?: Span): Promise<AsyncIterable<Message>> {
    const begun = performance.now();
    this.#openStreams += 1;
    const use = this.#options.usePool(call.principal.namespace);
    const onEnd = (failure: ApiError | undefined) => {
      this.#openStreams -= 1;
      use.release();
      call.admission.leave();
      this.#observe(method, request, call, begun, { failure, span });
    };
    try {
      this.#checkRunning();
      return await this.#follow(method, request, call, use, onEnd);
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
    use: PoolUse,
    onEnd: (failure: ApiError | undefined) => void,
  ): Promise<WatchedStream> {
    if (call.signal.aborted) throw canceledError();
    if (method.stream === undefined) throw new ApiError(Code.Unimplemented, `${method.desc.name} is not a stream`);
    const stopped = new AbortController();
    // A stream may last, but whether it begins is answered as soon as other calls are.
    const beginsByMs = Math.min(
      call.deadlineMs ?? Number.POSITIVE_INFINITY,
      Date.now() + this.#options.serverLimits.unaryDeadlineMs,
    );
    const beginning = method.stream(
      request,
      this.#context(call, use, { deadlineMs: call.deadlineMs, signal: stopped.signal }),
    );
    const events = await untilCallEnd(beginning, { deadlineMs: beginsByMs, signal: call.signal }).catch(
      (error: unknown) => {
        stopped.abort();
        throw error;
      },
    );
    const stream = new WatchedStream(method.isTransfer ? this.#timed(events, call) : events, {
      toError: toApiError,
      onLateError: (err) => this.#options.logger.warn({ err }, "A stream failed while it was being closed"),
      onEnd: (failure) => {
        stopWatching();
        stopped.abort();
        onEnd(failure as ApiError | undefined);
      },
    });
    const stopWatching = this.#watch(stream, call);
    if (this.#stopping) stream.end(stoppingError());
    return stream;
  }

  /** Ends a stream with its call, its credential or the server. Returns a function that stops watching. */
  #watch(stream: OpenStream, call: FrontCall): () => void {
    this.#streams.add(stream);
    const stopWatching = onCallEnd(call, (error) => stream.end(error));
    const { expiresMs, revoked } = call.principal;
    const stopChecking = onCallEnd({ deadlineMs: expiresMs, signal: revoked }, () =>
      stream.end(expiredError(call.principal)),
    );
    return () => {
      stopWatching();
      stopChecking();
      this.#streams.delete(stream);
    };
  }

  #timed(events: AsyncIterable<Message>, { front }: FrontCall): AsyncIterable<Message> {
    const { serverLimits, metrics } = this.#options;
    return timedChunks(events, serverLimits.unaryDeadlineMs, (bytes) => metrics.servedBytes.inc({ front }, bytes));
  }

  /** The implementation may go on after the upload has ended, and needs its pool until then, as in a unary call. */
  #upload(
    method: ApiMethod,
    first: Message,
    rest: AsyncIterable<Message>,
    call: FrontCall,
    span?: Span,
  ): Promise<Message> {
    const begun = performance.now();
    const { serverLimits, metrics } = this.#options;
    const { front, deadlineMs } = call;
    this.#openStreams += 1;
    return new Promise((resolve, reject) => {
      const stopped = new AbortController();
      const uploaded = new Uploaded(first, rest, serverLimits.unaryDeadlineMs, () => fail(deadlineError()));
      let stopWatching = () => {};
      let hasEnded = false;
      const end = (failure: ApiError | undefined, response?: Message): boolean => {
        if (hasEnded) return false;
        hasEnded = true;
        stopWatching();
        uploaded.stop();
        this.#openStreams -= 1;
        call.admission.leave();
        if (failure === undefined) metrics.storedBytes.inc({ front }, uploaded.bytes);
        else if (!uploaded.isWhole) metrics.uploadsEndedEarly.inc({ front });
        this.#observe(method, first, call, begun, { failure, response, span });
        return true;
      };
      const succeed = (response: Message) => {
        if (end(undefined, response)) resolve(response);
      };
      const fail = (error: unknown) => {
        const failure = toApiError(error);
        if (!end(failure)) return;
        stopped.abort();
        reject(failure);
      };
      try {
        this.#checkRunning();
        if (call.signal.aborted) throw canceledError();
        if (method.upload === undefined) throw new ApiError(Code.Unimplemented, `${method.desc.name} is not an upload`);
        stopWatching = this.#watch({ end: fail }, call);
        const use = this.#options.usePool(call.principal.namespace);
        const context = this.#context(call, use, { deadlineMs, signal: stopped.signal });
        method
          .upload(first, uploaded, context)
          .finally(() => use.release())
          .then(succeed, fail);
      } catch (error) {
        fail(error);
      }
    });
  }

  /** Copying `limited` with a spread would take longer than all else here. */
  #context({ principal }: FrontCall, { rootPool }: PoolUse, limited: Call): ApiContext {
    const { namespace, access } = principal;
    const { deadlineMs, signal } = limited;
    const { limits, hidesTodos, signTicket } = this.#options;
    const hasKey = this.#options.authenticator.everyone === undefined && !isOfTicket(principal);
    const key = hasKey ? countedAs(principal) : undefined;
    return { namespace, rootPool, limits, hidesTodos, signTicket, deadlineMs, signal, key, access };
  }

  #checkRunning(): void {
    if (this.#stopping) throw stoppingError();
  }

  #leave(): void {
    this.#inFlight -= 1;
    this.#tellIdle();
  }

  #observe(
    method: ApiMethod,
    request: Message | undefined,
    call: Arrival,
    begun: number,
    { failure, response, span }: CallEnd,
  ): void {
    const elapsedMs = performance.now() - begun;
    this.#options.metrics.observe(method, call.front, elapsedMs / 1000, failure?.code);
    if (failure?.quota !== undefined) this.#options.metrics.quotaRefusals.inc({ quota: failure.quota });
    if (span !== undefined) this.#options.tracing?.endSpan(span, failure);
    this.#callLog.ended({ method, request, response, call, elapsedMs, failure, span });
    const { audit, authenticator } = this.#options;
    audit?.ended({ method, request, response, call, failure }, call.principal === authenticator.everyone);
  }
}
