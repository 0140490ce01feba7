import type {
  DescMessage,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  Message,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import { type CallOptions, makeAnyClient, type Transport } from "@connectrpc/connect";
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

export function createServiceClient<Service extends DescService>(
  service: Service,
  transport: Transport,
  policy: CallPolicy,
): ServiceClient<Service> {
  return makeAnyClient(service, (method) => {
    if (method.methodKind === "server_streaming") {
      return (init: object, options: CallOptions = {}) => {
        const ended = new AbortController();
        const signal = options.signal === undefined ? ended.signal : AbortSignal.any([options.signal, ended.signal]);
        const { timeoutMs, headers, contextValues } = options;
        const request = only(fromNumbers(method.input, init));
        const stream = transport.stream(method, signal, timeoutMs, headers, request, contextValues);
        return messagesOf(stream, method.output, { ...options, signal }, ended);
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
        return callUnary(transport, method as DescMethodUnary, request, { ...others, ...deadline });
      });
      return withNumbers(method.output, answer);
    };
  }) as ServiceClient<Service>;
}

// Connect's createClient would do what follows, but it also makes methods of kinds that the API does not have, and every
// page would load their code.

async function callUnary(transport: Transport, method: DescMethodUnary, request: Message, options: CallOptions) {
  const { signal, timeoutMs, headers, contextValues, onHeader, onTrailer } = options;
  const answer = await transport.unary(method, signal, timeoutMs, headers, request, contextValues);
  onHeader?.(answer.header);
  onTrailer?.(answer.trailer);
  return answer.message;
}

async function* only(request: Message): AsyncGenerator<Message, void, undefined> {
  yield request;
}

/**
 * Ends the call when the reader stops early, because the transport keeps the connection open then. As in Connect's own
 * client, only the signal ends a call: the transport's iterator is never asked to return.
 */
async function* messagesOf(
  stream: ReturnType<Transport["stream"]>,
  output: DescMessage,
  { signal, onHeader, onTrailer }: CallOptions,
  ended: AbortController,
): AsyncGenerator<Message, void, undefined> {
  try {
    const answer = await stream;
    onHeader?.(answer.header);
    const messages = answer.message[Symbol.asyncIterator]();
    for (let next = await messages.next(); next.done !== true; next = await messages.next()) {
      yield withNumbers(output, next.value as Message);
    }
    onTrailer?.(answer.trailer);
  } catch (error) {
    throw errorOfCall(error, signal);
  } finally {
    ended.abort();
  }
}
