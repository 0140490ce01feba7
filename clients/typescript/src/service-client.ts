import type {
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  Message,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import { type CallOptions, createClient, makeAnyClient, type Transport } from "@connectrpc/connect";
import { fromNumbers, type NumberInit, type WithNumbers, withNumbers } from "./int64.js";
import { errorOfCall, withRetries } from "./retry.js";
import { makeSafeToRetry } from "./safe-to-retry.js";

/** One method for each RPC of a service. 64-bit integers are numbers, and calls that are safe to repeat are retried. */
export type ServiceClient<Service extends DescService> = {
  [Name in keyof Service["method"]]: Service["method"][Name] extends DescMethodUnary<infer Input, infer Output>
    ? (
        request: NumberInit<MessageInitShape<Input>>,
        options?: CallOptions,
      ) => Promise<WithNumbers<MessageShape<Output>>>
    : Service["method"][Name] extends DescMethodServerStreaming<infer Input, infer Output>
      ? (
          request: NumberInit<MessageInitShape<Input>>,
          options?: CallOptions,
        ) => AsyncIterable<WithNumbers<MessageShape<Output>>>
      : never;
};

export interface CallPolicy {
  /** The most times that a call which is safe to repeat is sent again. */
  readonly retries: number;
  /** The time for all attempts of a call that sets no time of its own. */
  readonly timeoutMs?: number | undefined;
}

type Method = (request: object, options?: CallOptions) => unknown;

export function createServiceClient<Service extends DescService>(
  service: Service,
  transport: Transport,
  policy: CallPolicy,
): ServiceClient<Service> {
  const plain = createClient(service, transport) as unknown as Record<string, Method>;
  return makeAnyClient(service, (method) => {
    const call = plain[method.localName] as Method;
    if (method.methodKind === "server_streaming") {
      return (init: object, options: CallOptions = {}) => {
        const ended = new AbortController();
        const signal = options.signal === undefined ? ended.signal : AbortSignal.any([options.signal, ended.signal]);
        const events = call(fromNumbers(method.input, init), { ...options, signal }) as AsyncIterable<Message>;
        return mapped(events, (event) => withNumbers(method.output, event), ended, signal);
      };
    }
    return async (init: object, options: CallOptions = {}) => {
      // A copy, so the ids that are made here do not show in the caller's messages.
      const request = fromNumbers(method.input, init);
      const isSafe = makeSafeToRetry(method, request);
      const { timeoutMs = policy.timeoutMs, ...others } = options;
      const { signal } = others;
      const retries = isSafe ? policy.retries : 0;
      const answer = await withRetries({ retries, signal, timeoutMs }, (timeLeftMs) => {
        const deadline = timeLeftMs === undefined ? {} : { timeoutMs: timeLeftMs };
        return call(request, { ...others, ...deadline }) as Promise<Message>;
      });
      return withNumbers(method.output, answer);
    };
  }) as ServiceClient<Service>;
}

/** Ends the call when the reader stops early, because the transport keeps the connection open then. */
async function* mapped<From, To>(
  items: AsyncIterable<From>,
  map: (item: From) => To,
  ended: AbortController,
  signal: AbortSignal,
): AsyncGenerator<To, void, undefined> {
  try {
    for await (const item of items) yield map(item);
  } catch (error) {
    throw errorOfCall(error, signal);
  } finally {
    ended.abort();
  }
}
