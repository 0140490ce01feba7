import {
  context,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapGetter,
  trace,
} from "@opentelemetry/api";
import type { ApiError } from "../api/error-mapping.js";
import type { ApiMethod } from "../api/method-table.js";
import { codeName } from "./code-name.js";
import type { FrontCall } from "./front-call.js";

type Header = NonNullable<FrontCall["header"]>;

const headerGetter: TextMapGetter<Header> = {
  keys: () => ["traceparent", "tracestate", "baggage"],
  get: (header, name) => header(name),
};

/** Starts the OpenTelemetry SDK, which reads the OTEL_ variables itself; resolves to what ends it and sends what it holds. */
export async function startTracing(serviceVersion: string): Promise<() => Promise<void>> {
  const { NodeSDK, resources } = await import("@opentelemetry/sdk-node");
  const resource = resources.resourceFromAttributes({
    "service.name": "session-pool",
    "service.version": serviceVersion,
  });
  const sdk = new NodeSDK({ resource });
  sdk.start();
  return () => sdk.shutdown();
}

/** Runs a call within a span that continues the client's trace. */
export async function withSpan<T>(method: ApiMethod, call: FrontCall, run: (span: Span) => Promise<T>): Promise<T> {
  const parent = call.header ? propagation.extract(context.active(), call.header, headerGetter) : context.active();
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
