import {
  context,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapGetter,
  trace,
} from "@opentelemetry/api";
import { NodeSDK, resources } from "@opentelemetry/sdk-node";
import { type ApiError, codeName } from "../../api/api-error.js";
import type { ApiMethod } from "../../api/method-table.js";
import type { RequestFacts } from "../auth/principal.js";
import type { FrontCall } from "./front-call.js";

const headerGetter: TextMapGetter<RequestFacts> = {
  keys: () => ["traceparent", "tracestate", "baggage"],
  get: (request, name) => request.header(name),
};

/**
 * Starts the OpenTelemetry SDK, which reads the OTEL_ variables itself. Returns a function that ends it after sending
 * what is pending.
 */
export function startTracing(serviceVersion: string): () => Promise<void> {
  const resource = resources.resourceFromAttributes({
    "service.name": "session-pool",
    "service.version": serviceVersion,
  });
  // processDetector, which is among the defaults, is left out because it reports the command line, and that may contain
  // a storage URL with a password.
  const sdk = new NodeSDK({ resource, resourceDetectors: [resources.envDetector, resources.hostDetector] });
  sdk.start();
  return () => sdk.shutdown();
}

/** Runs a call within a span that continues the client's trace. */
export async function withSpan<T>(method: ApiMethod, call: FrontCall, run: (span: Span) => Promise<T>): Promise<T> {
  const parent = call.facts ? propagation.extract(context.active(), call.facts, headerGetter) : context.active();
  const name = `${method.desc.parent.typeName}/${method.desc.name}`;
  const attributes = {
    "rpc.system": call.front,
    "rpc.service": method.desc.parent.typeName,
    "rpc.method": method.desc.name,
  };
  const span = trace.getTracer("session-pool").startSpan(name, { kind: SpanKind.SERVER, attributes }, parent);
  return context.with(trace.setSpan(parent, span), () => run(span));
}

export function endSpan(span: Span, error: ApiError | undefined): void {
  if (error !== undefined) {
    span.setAttribute("rpc.grpc.status_code", error.code);
    span.setStatus({ code: SpanStatusCode.ERROR, message: codeName(error.code) });
  }
  span.end();
}
