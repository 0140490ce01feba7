import type { ApiMethod } from "../../api/method-table.js";
import { readDeadline } from "../call/deadline.js";
import type { Arrival, CallPipeline, FrontCall } from "../call/front-call.js";
import { connectionOf } from "./connection-of.js";
import type { HttpExchange } from "./exchange.js";
import { goneSignal } from "./gone-signal.js";
import { factsOf } from "./request-facts.js";
import { endWhenSent } from "./respond.js";

/**
 * Authenticates a request and admits it as a call of the method. Its place is given back when the answer has been sent.
 * Rejects with ApiError.
 */
export async function startCall(
  front: Arrival["front"],
  pipeline: CallPipeline,
  method: ApiMethod,
  { request, response }: HttpExchange,
  signal = goneSignal(request, response),
): Promise<FrontCall> {
  const deadlineMs = readDeadline(request.headers, Date.now());
  const facts = factsOf(request);
  const principal = await pipeline.authenticate(facts);
  const connection = connectionOf(request);
  const admission = pipeline.admit(method, { front, principal, facts, connection });
  endWhenSent(admission, response);
  // Copying the arrival with a spread would cost a tenth of a small call.
  return { front, principal, facts, connection, admission, deadlineMs, signal };
}
