import type { Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { type ApiError, codeName } from "../../api/api-error.js";
import type { ApiMethod } from "../../api/method-table.js";
import type { AuditFields, AuditLog } from "../audit-log.js";
import { isOfTicket, type Principal, type RequestFacts } from "../auth/principal.js";
import { RepeatedLines } from "../repeated-lines.js";
import type { EndedCall } from "./call-log.js";

/** What a call is refused with because of who calls. */
const REFUSALS: readonly Code[] = [Code.Unauthenticated, Code.PermissionDenied];

/** The fields of requests and answers that name what a call was about. No other field is ever written. */
const IDS = [
  "sessionId",
  "newSessionId",
  "targetSessionId",
  "parentId",
  "messageId",
  "upToMessageId",
  "attachmentId",
  "annotationId",
  "todoId",
] as const;

const MAX_ID_LENGTH = 128;

/** Those of them that the service may have made. */
const MADE: readonly string[] = ["sessionId", "messageId", "attachmentId", "annotationId"];

type Ids = { [id in (typeof IDS)[number]]?: string };

/** Writes the audit log's lines about calls and refused requests; the only place that decides what they say. */
export class CallAudit {
  readonly #log: AuditLog;
  readonly #refusals: RepeatedLines;

  constructor(log: AuditLog) {
    this.#log = log;
    const write = (fields: unknown) => log.write(fields as AuditFields);
    this.#refusals = new RepeatedLines({ isLevelEnabled: () => true, warn: write, error: write });
  }

  /** Writes a line about each call of a method that changes something, and about each one that was refused. */
  ended({ method, request, response, call, failure }: Omit<EndedCall, "elapsedMs" | "span">, isOpen: boolean): void {
    if (!isTold(method, failure)) return;
    this.#log.write({
      ...callerFields(call.principal, isOpen),
      action: method.desc.name,
      front: call.front,
      namespace: call.principal.namespace,
      ...idsIn(request, response),
      result: codeName(failure?.code ?? 0),
      requestId: call.facts?.requestId,
      peer: call.facts?.peer(),
    });
  }

  /**
   * Writes a line about a request that was refused before it was a call. Of those with the same code and address within
   * a second, the first gets a line, and all others one line with their `count`.
   */
  refused(request: RequestFacts, { code }: ApiError): void {
    if (!REFUSALS.includes(code)) return;
    const peer = request.peer();
    this.#refusals.log("warn", `${code} ${peer}`, String(code), () => {
      return { action: "refused", result: codeName(code), requestId: request.requestId, peer };
    });
  }

  /** Writes what was counted and not yet told. */
  flush(): void {
    this.#refusals.flush();
  }
}

/** By whom: the kind of credential, and its name. */
function callerFields({ name, id, access, ...principal }: Principal, isOpen: boolean): AuditFields {
  const shown = name.slice(0, MAX_ID_LENGTH);
  const owner = access !== undefined && "owner" in access ? access.owner : undefined;
  if (isOpen) return { by: "anyone" };
  if (isOfTicket({ name, id, access, ...principal })) return { by: "ticket", name: shown.replace(/^ticket /, "") };
  return { by: id === undefined ? "key" : "token", name: shown, owner };
}

/** Whether the audit log tells of a call of the method that ended like this. */
export function isTold({ isAudited }: Pick<ApiMethod, "isAudited">, failure: ApiError | undefined): boolean {
  return isAudited || (failure !== undefined && REFUSALS.includes(failure.code));
}

/** What a request names, and what the service named in its answer. */
export function idsIn(request: Message | undefined, response: Message | undefined): Ids {
  const ids: Ids = {};
  const annotation = fieldOf(request, "annotation");
  for (const id of IDS) {
    const named =
      textIn(request, id) ?? textIn(annotation, id) ?? (MADE.includes(id) ? textIn(response, id) : undefined);
    if (named !== undefined) ids[id] = named;
  }
  const appended = textIn(fieldOf(fieldOf(request, "message"), "info"), "id");
  if (appended !== undefined) ids.messageId ??= appended;
  // The session that a fork made.
  const made = textIn(fieldOf(response, "session"), "sessionId");
  if (made !== undefined && made !== ids.sessionId) ids.newSessionId ??= made;
  const isTodo = response?.$typeName === "sessionpool.v1.Todo";
  const todo = textIn(fieldOf(request, "todo"), "id") ?? (isTodo ? textIn(response, "id") : undefined);
  if (todo !== undefined) ids.todoId ??= todo;
  return ids;
}

function fieldOf(message: unknown, name: string): unknown {
  return typeof message === "object" && message !== null ? (message as Record<string, unknown>)[name] : undefined;
}

function textIn(message: unknown, name: string): string | undefined {
  const value = fieldOf(message, name);
  return typeof value === "string" && value !== "" ? value.slice(0, MAX_ID_LENGTH) : undefined;
}
