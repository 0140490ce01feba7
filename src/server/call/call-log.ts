import type { Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type { Span } from "@opentelemetry/api";
import { type ApiError, codeName } from "../../api/api-error.js";
import type { ApiMethod } from "../../api/method-table.js";
import type { RequestFacts } from "../auth/principal.js";
import type { Logger } from "../logging.js";
import { type LineLevel, RepeatedLines } from "../repeated-lines.js";
import type { Arrival } from "./front-call.js";

/** A call that has ended. */
export interface EndedCall {
  readonly method: ApiMethod;
  /** Undefined when the call was refused before its request was read. */
  readonly request: Message | undefined;
  /** Undefined when the call failed, and for streams. */
  readonly response: Message | undefined;
  readonly call: Arrival;
  readonly elapsedMs: number;
  readonly failure: ApiError | undefined;
  readonly span: Span | undefined;
}

const LEVELS: Partial<Record<Code, LineLevel>> = {
  [Code.Internal]: "error",
  [Code.Unavailable]: "warn",
  [Code.DeadlineExceeded]: "warn",
  [Code.ResourceExhausted]: "warn",
  [Code.PermissionDenied]: "warn",
  [Code.Unauthenticated]: "warn",
};

/** What a request is refused with because of its key. Anything else is a fault of the service. */
const KNOWN_REFUSALS: readonly Code[] = [Code.Unauthenticated, Code.PermissionDenied, Code.ResourceExhausted];

const MAX_ID_LENGTH = 128;

/** Writes lines about calls: who called what, and from where. They never contain a key or any part of a message. */
export class CallLog {
  readonly #logger: Logger;
  readonly #lines: RepeatedLines;

  constructor(logger: Logger) {
    this.#logger = logger;
    this.#lines = new RepeatedLines(logger);
  }

  /**
   * Failures of the service and refusals are logged at `warn` or `error`; everything else, including other errors of
   * the caller, at `debug`.
   */
  ended(ended: EndedCall): void {
    const { method, call, failure } = ended;
    const level = failure && LEVELS[failure.code];
    if (level !== undefined) {
      const kind = `${method.desc.name} ${call.front} ${failure?.code} ${call.principal.namespace} ${call.principal.name}`;
      this.#lines.log(level, kind, "Call failed", () => fieldsOf(ended));
    } else if (this.#logger.isLevelEnabled("debug")) {
      this.#logger.debug(fieldsOf(ended), failure === undefined ? "Call" : "Call failed");
    }
  }

  /** Logs a request that was refused. Each address gets lines of its own, but at most one a second. */
  refused(request: RequestFacts, failure: ApiError): void {
    const peer = request.peer();
    const isKnown = KNOWN_REFUSALS.includes(failure.code);
    const level = isKnown ? "warn" : "error";
    this.#lines.log(level, `refused ${failure.code} ${isKnown ? peer : ""}`, "Request refused", () => ({
      ...outcomeOf(failure),
      ...idsOf(request),
      peer,
    }));
  }
}

function fieldsOf({ method, request, call, elapsedMs, failure, span }: EndedCall): object {
  const { sessionId } = (request ?? {}) as { readonly sessionId?: unknown };
  const traceId = span?.spanContext().traceId;
  return {
    method: method.desc.name,
    front: call.front,
    key: call.principal.name.slice(0, MAX_ID_LENGTH),
    namespace: call.principal.namespace,
    ...(typeof sessionId === "string" && sessionId !== "" && { sessionId: sessionId.slice(0, MAX_ID_LENGTH) }),
    ...(call.facts && { ...idsOf(call.facts), peer: call.facts.peer() }),
    ...(traceId !== undefined && { traceId }),
    elapsedMs: Math.round(elapsedMs * 10) / 10,
    ...(failure && outcomeOf(failure)),
  };
}

function idsOf(request: RequestFacts): object {
  const traceId = /^[\da-f]{2}-([\da-f]{32})-/.exec(request.header("traceparent") ?? "")?.[1];
  return { requestId: request.requestId, ...(traceId && { traceId }) };
}

/** Adds a stack only to errors that a developer has to look into. */
function outcomeOf({ code, message, cause }: ApiError): object {
  const outcome = { code: codeName(code), reason: message };
  if (cause === undefined) return outcome;
  return code === Code.Internal ? { ...outcome, err: cause } : { ...outcome, cause: String(cause) };
}
