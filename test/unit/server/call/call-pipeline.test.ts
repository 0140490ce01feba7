import { create, type Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { AttachmentService } from "../../../../gen/sessionpool/v1/attachment_service_pb.js";
import { CountMessagesResponseSchema, MessageService } from "../../../../gen/sessionpool/v1/message_service_pb.js";
import { ApiError } from "../../../../src/api/api-error.js";
import type { ApiContext, ApiMethod } from "../../../../src/api/method-table.js";
import { DEFAULT_SERVER_LIMITS, type ServerLimits } from "../../../../src/config/config.js";
import { DomainError } from "../../../../src/domain/errors.js";
import { DEFAULT_LIMITS } from "../../../../src/domain/limits.js";
import type { Quotas } from "../../../../src/domain/quotas.js";
import { RootPool } from "../../../../src/pool/root-pool.js";
import {
  type Authenticator,
  BearerAuthenticator,
  type CredentialChecker,
} from "../../../../src/server/auth/authenticator.js";
import type { Principal } from "../../../../src/server/auth/principal.js";
import { CheckedCallPipeline } from "../../../../src/server/call/call-pipeline.js";
import type { Arrival, FrontCall } from "../../../../src/server/call/front-call.js";
import { Metrics } from "../../../../src/server/call/metrics.js";
import { Admissions } from "../../../../src/server/limits/admissions.js";
import { createLogger } from "../../../../src/server/logging.js";
import { MINUTE_MS, passingDeadline } from "../../../support/call-endings.js";
import { poll } from "../../../support/poll.js";
import { TestLogger } from "../../../support/test-logger.js";

const ANSWER = create(CountMessagesResponseSchema, { count: 7n });
const REQUEST = ANSWER as Message;
const READER: Principal = { name: "reader", namespace: "a", scope: "read" };
const ARRIVAL: Arrival = { front: "rest", principal: READER };

/** Needs no keys. */
const OPEN = new BearerAuthenticator({ keys: [] });
const NO_KEYS: CredentialChecker = { check: () => Promise.resolve(undefined), reload: () => {}, close: () => {} };

describe("a unary call", () => {
  it("gives the implementation the namespace's pool, the deadline and the signal", async () => {
    const pools = new Map([["a", new RootPool()]]);
    const { pipeline } = makePipeline({ rootPoolFor: (name) => pools.get(name)! });
    let seen: ApiContext | undefined;
    const call = frontCall();
    const method = unaryMethod(async (context) => {
      seen = context;
      return ANSWER;
    });
    expect(await pipeline.unary(method, REQUEST, call)).toBe(ANSWER);
    expect(seen?.rootPool).toBe(pools.get("a"));
    expect(seen?.signal).toBe(call.signal);
    expect(seen?.limits).toBe(DEFAULT_LIMITS);
    expect(seen!.deadlineMs! - Date.now()).toBeLessThanOrEqual(DEFAULT_SERVER_LIMITS.unaryDeadlineMs);
  });

  it("keeps an earlier deadline of the client", async () => {
    const { pipeline } = makePipeline({ serverLimits: { unaryDeadlineMs: 2 * MINUTE_MS } });
    const { call } = passingDeadline();
    let seen: number | undefined;
    const method = unaryMethod(async (context) => {
      seen = context.deadlineMs;
      return ANSWER;
    });
    await pipeline.unary(method, REQUEST, frontCall(call));
    expect(seen).toBe(call.deadlineMs);
  });

  it("ends at the deadline even if the store hangs", async () => {
    const { pipeline } = makePipeline({ serverLimits: { unaryDeadlineMs: 10 } });
    const hanging = unaryMethod(() => new Promise(() => undefined));
    await expect(pipeline.unary(hanging, REQUEST, frontCall())).rejects.toMatchObject({ code: Code.DeadlineExceeded });
    expect(pipeline.inFlight).toBe(0);
  });

  it("does not begin when the deadline has passed", async () => {
    const { pipeline } = makePipeline();
    let begun = false;
    const method = unaryMethod(async () => {
      begun = true;
      return ANSWER;
    });
    const call = frontCall({ deadlineMs: Date.now() - 1 });
    await expect(pipeline.unary(method, REQUEST, call)).rejects.toMatchObject({ code: Code.DeadlineExceeded });
    expect(begun).toBe(false);
  });

  it("tells the implementation when the client has gone", async () => {
    const { pipeline } = makePipeline();
    const gone = new AbortController();
    const patient = unaryMethod(
      ({ signal }) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener("abort", () => reject(new DomainError("canceled", "The call was canceled")));
        }),
    );
    const answer = pipeline.unary(patient, REQUEST, frontCall({ signal: gone.signal }));
    gone.abort();
    await expect(answer).rejects.toMatchObject({ code: Code.Canceled });
    await expect(pipeline.unary(patient, REQUEST, frontCall({ signal: gone.signal }))).rejects.toMatchObject({
      code: Code.Canceled,
    });
  });

  it("needs the method's scope", async () => {
    const { pipeline } = makePipeline();
    const write = { ...unaryMethod(async () => ANSWER), scope: "write" as const };
    expect(() => pipeline.admit(write, ARRIVAL)).toThrow(
      new ApiError(Code.PermissionDenied, 'The key "reader" has the scope read; CountMessages needs write'),
    );
    const admin = { ...READER, scope: "admin" as const };
    const admission = pipeline.admit(write, { ...ARRIVAL, principal: admin });
    expect(await pipeline.unary(write, REQUEST, frontCall({ principal: admin, admission }))).toBe(ANSWER);
  });

  it("is refused beyond the limit of calls before its body is read, and accepted again after an answer", async () => {
    const { pipeline } = makePipeline({ serverLimits: { inFlightCalls: 2 } });
    const method = unaryMethod(async () => ANSWER);
    const admissions = [pipeline.admit(method, ARRIVAL), pipeline.admit(method, ARRIVAL)];
    expect(() => pipeline.admit(method, ARRIVAL)).toThrow(expect.objectContaining({ code: Code.ResourceExhausted }));
    await pipeline.unary(method, REQUEST, frontCall({ admission: admissions[0]! }));
    expect(pipeline.admit(method, ARRIVAL)).toBeDefined();
  });

  it("is refused beyond a quota of calls, which a refused call does not use up, and metrics say which quota", async () => {
    const { pipeline, metrics } = makePipeline({
      serverLimits: { inFlightCalls: 1 },
      quotas: { namespace: { callsPerMinute: 2 } },
    });
    const method = unaryMethod(async () => ANSWER);
    const first = pipeline.admit(method, ARRIVAL);
    expect(() => pipeline.admit(method, ARRIVAL)).toThrow(/at a time/);
    first.end();
    pipeline.admit(method, ARRIVAL).end();
    const text = /^The namespace "a" has made 2 calls within a minute; --quota-namespace-calls-per-minute allows 2/;
    for (let i = 0; i < 2; i++) {
      expect(() => pipeline.admit(method, ARRIVAL)).toThrow(
        expect.objectContaining({ code: Code.ResourceExhausted, message: expect.stringMatching(text) }),
      );
    }
    const refusals = 'session_pool_quota_refusals_total{quota="namespace-calls-per-minute"} 2';
    expect(await metrics.registry.metrics()).toContain(refusals);
  });

  it("tells the implementation the name of the caller's key, and none when there are no keys", async () => {
    const seen: (string | undefined)[] = [];
    const method = unaryMethod(async ({ key }) => {
      seen.push(key);
      return ANSWER;
    });
    const keyed = new BearerAuthenticator({ keys: [NO_KEYS] });
    for (const authenticator of [keyed, OPEN]) {
      await makePipeline({ authenticator }).pipeline.unary(method, REQUEST, frontCall());
    }
    const asToken = { ...frontCall(), principal: { ...READER, id: "token reader" } };
    await makePipeline({ authenticator: keyed }).pipeline.unary(method, REQUEST, asToken);
    expect(seen).toEqual(["reader", undefined, "token reader"]);
  });

  it("is counted when it is refused", async () => {
    const { pipeline, metrics } = makePipeline({ serverLimits: { inFlightCalls: 1 } });
    const method = unaryMethod(async () => ANSWER);
    pipeline.admit(method, ARRIVAL);
    expect(() => pipeline.admit(method, ARRIVAL)).toThrow();
    const labels = 'method="sessionpool.v1.MessageService/CountMessages",front="rest",code="resource_exhausted"';
    expect(await metrics.registry.metrics()).toContain(`session_pool_calls_total{${labels}} 1`);
  });

  it("answers unexpected errors with a fixed text, and logs the cause but no content", async () => {
    const logger = new TestLogger();
    const { pipeline } = makePipeline({ logger: logger.pino });
    const broken = unaryMethod(async () => {
      throw new TypeError("disk on fire");
    });
    await expect(pipeline.unary(broken, REQUEST, frontCall())).rejects.toMatchObject({
      code: Code.Internal,
      message: "Internal error",
    });
    expect(logger.lines).toHaveLength(1);
    expect(logger.lines[0]).toMatchObject({
      msg: "Call failed",
      method: "CountMessages",
      key: "reader",
      namespace: "a",
      code: "internal",
      err: { message: "disk on fire" },
    });
  });

  it("is counted by method, front and code", async () => {
    const { pipeline, metrics } = makePipeline();
    const missing = unaryMethod(async () => {
      throw new DomainError("not_found", "no");
    });
    await pipeline.unary(
      unaryMethod(async () => ANSWER),
      REQUEST,
      frontCall(),
    );
    await expect(pipeline.unary(missing, REQUEST, frontCall())).rejects.toMatchObject({ code: Code.NotFound });
    const text = await metrics.registry.metrics();
    const labels = 'method="sessionpool.v1.MessageService/CountMessages",front="rest"';
    expect(text).toContain(`session_pool_calls_total{${labels},code="ok"} 1`);
    expect(text).toContain(`session_pool_calls_total{${labels},code="not_found"} 1`);
    expect(text).toContain(`session_pool_call_duration_seconds_bucket{${labels},le="+Inf"} 1`);
    expect(text).toContain("session_pool_calls_in_flight 0");
  });
});

describe("a stream", () => {
  it("passes events on, and ends when the implementation does", async () => {
    const { pipeline } = makePipeline();
    const method = streamMethod(async function* () {
      yield ANSWER;
      yield ANSWER;
    });
    const events = await pipeline.stream(method, REQUEST, frontCall());
    expect(await collect(events)).toEqual([ANSWER, ANSWER]);
    expect(pipeline.openStreams).toBe(0);
  });

  it("ends at the client's deadline, even while nothing happens", async () => {
    const { pipeline } = makePipeline();
    const { call, end } = passingDeadline();
    const events = await pipeline.stream(silentStream(), REQUEST, frontCall(call));
    const ended = collect(events);
    end();
    await expect(ended).rejects.toMatchObject({ code: Code.DeadlineExceeded });
  });

  it("tells the implementation when the client has gone", async () => {
    const { pipeline } = makePipeline();
    const gone = new AbortController();
    let signal: AbortSignal | undefined;
    const method = silentStream((context) => {
      signal = context.signal;
    });
    const events = await pipeline.stream(method, REQUEST, frontCall({ signal: gone.signal }));
    const ended = collect(events);
    gone.abort();
    await expect(ended).rejects.toMatchObject({ code: Code.Canceled });
    expect(signal?.aborted).toBe(true);
    expect(pipeline.openStreams).toBe(0);
  });

  it("tells the implementation when the reader stops", async () => {
    const { pipeline } = makePipeline();
    let signal: AbortSignal | undefined;
    const method = streamMethod(async function* (context) {
      signal = context.signal;
      for (;;) yield ANSWER;
    });
    for await (const event of await pipeline.stream(method, REQUEST, frontCall())) {
      expect(event).toBe(ANSWER);
      break;
    }
    expect(signal?.aborted).toBe(true);
    expect(pipeline.openStreams).toBe(0);
  });

  it("is refused beyond the limit of watchers", async () => {
    const { pipeline } = makePipeline({ serverLimits: { watchers: 1 } });
    const admission = pipeline.admit(silentStream(), ARRIVAL);
    const first = await pipeline.stream(silentStream(), REQUEST, frontCall({ admission }));
    expect(() => pipeline.admit(silentStream(), ARRIVAL)).toThrow(
      expect.objectContaining({ code: Code.ResourceExhausted }),
    );
    await first[Symbol.asyncIterator]().return?.();
    expect(pipeline.admit(silentStream(), ARRIVAL)).toBeDefined();
  });

  it("is refused when it has not begun within the time that a call may take, even if its client sets no deadline", async () => {
    const { pipeline } = makePipeline({ serverLimits: { unaryDeadlineMs: 10 } });
    let signal: AbortSignal | undefined;
    const desc = MessageService.method.watchMessages;
    const stream: ApiMethod["stream"] = (_request, context) => {
      ({ signal } = context);
      return new Promise(() => {});
    };
    const beginning = pipeline.stream(
      { desc, scope: "read", ticket: "none", grpcOnly: false, isAudited: false, stream },
      REQUEST,
      frontCall(),
    );
    await expect(beginning).rejects.toMatchObject({ code: Code.DeadlineExceeded });
    expect(signal?.aborted).toBe(true);
  });

  it("does not count as open when it fails to start", async () => {
    const { pipeline } = makePipeline();
    const method = {
      ...streamMethod(async function* () {}),
      stream: () => Promise.reject(new DomainError("not_found", "x")),
    };
    await expect(pipeline.stream(method, REQUEST, frontCall())).rejects.toMatchObject({ code: Code.NotFound });
    expect(pipeline.openStreams).toBe(0);
  });
});

describe("an upload", () => {
  const CHUNK = { ...ANSWER, chunk: new Uint8Array(3) } as Message;

  it("gets its messages as it takes them, counts as a stream until it is answered, and its bytes are counted", async () => {
    const { pipeline, metrics } = makePipeline();
    const taken: Message[] = [];
    const method = uploadMethod(async (rest) => {
      expect(pipeline.openStreams).toBe(1);
      for await (const message of rest) taken.push(message);
      return ANSWER;
    });
    expect(await pipeline.upload(method, CHUNK, sent(CHUNK, CHUNK), frontCall())).toBe(ANSWER);
    expect(taken).toEqual([CHUNK, CHUNK]);
    expect(pipeline.openStreams).toBe(0);
    const text = await metrics.registry.metrics();
    expect(text).toContain('session_pool_attachment_stored_bytes_total{front="rest"} 9');
    expect(text).not.toContain("session_pool_uploads_ended_early_total{");
  });

  it("may last while its client sends, but no step of the service longer than a call", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { pipeline } = makePipeline({ serverLimits: { unaryDeadlineMs: 1000 } });
    const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
    const slowly = (async function* () {
      for (let i = 0; i < 3; i++) {
        await wait(5000);
        yield CHUNK;
      }
    })();
    let signal: AbortSignal | undefined;
    const hanging = uploadMethod(async (rest, context) => {
      ({ signal } = context);
      for await (const _ of rest) await wait(900);
      return new Promise(() => {});
    });
    const answer = pipeline.upload(hanging, CHUNK, slowly, frontCall());
    const refused = expect(answer).rejects.toMatchObject({ code: Code.DeadlineExceeded });
    await vi.advanceTimersByTimeAsync(3 * 5900 + 999);
    expect(signal?.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(signal?.aborted).toBe(true);
    await refused;
  });

  it("ends with its client, at its deadline, with its credential and with the server, and counts as ended early", async () => {
    const { pipeline, metrics } = makePipeline();
    const signals: (AbortSignal | undefined)[] = [];
    const method = uploadMethod(async (rest, { signal }) => {
      signals.push(signal);
      for await (const _ of rest);
      return ANSWER;
    });
    const [gone, revoked] = [new AbortController(), new AbortController()];
    const { call, end } = passingDeadline();
    const begin = (changes: Partial<FrontCall>) => pipeline.upload(method, CHUNK, silence(), frontCall(changes));
    const uploads = [
      begin({ signal: gone.signal }),
      begin(call),
      begin({ principal: { ...READER, revoked: revoked.signal } }),
      begin({}),
    ].map((upload) => upload.catch(({ code }: ApiError) => code));
    gone.abort();
    end();
    revoked.abort();
    await Promise.all(uploads.slice(0, 3));
    await pipeline.stop();
    expect(await Promise.all(uploads)).toEqual([
      Code.Canceled,
      Code.DeadlineExceeded,
      Code.Unauthenticated,
      Code.Unavailable,
    ]);
    expect(signals.map((signal) => signal?.aborted)).toEqual([true, true, true, true]);
    expect(await metrics.registry.metrics()).toContain('session_pool_uploads_ended_early_total{front="rest"} 4');
    await expect(begin({})).rejects.toMatchObject({ code: Code.Unavailable });
  });

  it("is not counted as ended early when it is refused after its end", async () => {
    const { pipeline, metrics } = makePipeline();
    const method = uploadMethod(async (rest) => {
      for await (const _ of rest);
      throw new DomainError("already_exists", "taken");
    });
    await expect(pipeline.upload(method, CHUNK, sent(), frontCall())).rejects.toMatchObject({
      code: Code.AlreadyExists,
    });
    expect(await metrics.registry.metrics()).not.toMatch(/(ended_early|stored_bytes)_total\{/);
  });
});

describe("a download", () => {
  it("ends when the store takes longer for a message than a call may, and its bytes are counted", async () => {
    const { pipeline, metrics } = makePipeline({ serverLimits: { unaryDeadlineMs: 10 } });
    const method = streamMethod(async function* () {
      yield { ...ANSWER, chunk: new Uint8Array(7) } as Message;
      await new Promise(() => {});
    });
    const events = await pipeline.stream({ ...method, isTransfer: true }, REQUEST, frontCall());
    await expect(collect(events)).rejects.toMatchObject({ code: Code.DeadlineExceeded });
    expect(pipeline.openStreams).toBe(0);
    const text = await metrics.registry.metrics();
    expect(text).toContain('session_pool_attachment_served_bytes_total{front="rest"} 7');
  });
});

describe("a stopping server", () => {
  it("lets calls finish, refuses new ones, and ends streams with unavailable", async () => {
    const { pipeline } = makePipeline();
    const { promise, resolve } = deferred<Message>();
    const running = pipeline.unary(
      unaryMethod(() => promise),
      REQUEST,
      frontCall(),
    );
    const events = await pipeline.stream(silentStream(), REQUEST, frontCall());
    const ended = collect(events);
    let isStopped = false;
    const stopped = pipeline.stop().then(() => {
      isStopped = true;
    });
    await expect(ended).rejects.toMatchObject({ code: Code.Unavailable, message: "The server is stopping" });
    expect(() => pipeline.admit(silentStream(), ARRIVAL)).toThrow(expect.objectContaining({ code: Code.Unavailable }));
    expect(isStopped).toBe(false);
    resolve(ANSWER);
    expect(await running).toBe(ANSWER);
    await stopped;
  });

  it("lets calls finish whose bodies were still arriving", async () => {
    const { pipeline } = makePipeline();
    const method = unaryMethod(async () => ANSWER);
    const [arriving, broken] = [pipeline.admit(method, ARRIVAL), pipeline.admit(method, ARRIVAL)];
    let isStopped = false;
    const stopped = pipeline.stop().then(() => {
      isStopped = true;
    });
    broken.end();
    expect(await pipeline.unary(method, REQUEST, frontCall())).toBe(ANSWER);
    expect(isStopped).toBe(false);
    expect(await pipeline.unary(method, REQUEST, frontCall({ admission: arriving }))).toBe(ANSWER);
    await stopped;
  });

  it("stops at once when there are no calls", async () => {
    await makePipeline().pipeline.stop();
  });
});

describe("a namespace", () => {
  it("stays open until its call has ended, even if that was answered before", async () => {
    const released: string[] = [];
    const { pipeline } = makePipeline({
      onRelease: (namespace) => released.push(namespace),
      serverLimits: { unaryDeadlineMs: 1 },
    });
    const work = deferred<Message>();
    const method = unaryMethod(() => work.promise);
    await expect(pipeline.unary(method, REQUEST, frontCall())).rejects.toMatchObject({ code: Code.DeadlineExceeded });
    expect(released).toEqual([]);
    work.resolve(ANSWER);
    await poll(() => released.length > 0, "the namespace is released");
    const failing = unaryMethod(() => Promise.reject(new Error("a fault")));
    await expect(pipeline.unary(failing, REQUEST, frontCall())).rejects.toMatchObject({ code: Code.Internal });
    expect(released).toHaveLength(2);
  });

  it("stays open until its stream has ended", async () => {
    const released: string[] = [];
    const { pipeline } = makePipeline({ onRelease: (namespace) => released.push(namespace) });
    const ending = new AbortController();
    const stream = await pipeline.stream(silentStream(), REQUEST, frontCall({ signal: ending.signal }));
    const reading = collect(stream);
    expect(released).toEqual([]);
    ending.abort();
    await expect(reading).rejects.toMatchObject({ code: Code.Canceled });
    expect(released).toHaveLength(1);
  });
});

interface Changes {
  readonly rootPoolFor?: (namespace: string) => RootPool;
  readonly onRelease?: (namespace: string) => void;
  readonly authenticator?: Authenticator;
  readonly serverLimits?: Partial<ServerLimits>;
  readonly quotas?: Quotas;
  readonly logger?: ReturnType<typeof createLogger>;
}

function makePipeline(changes: Changes = {}) {
  const { rootPoolFor = () => new RootPool(), onRelease, serverLimits, quotas } = changes;
  const { authenticator = OPEN, logger = createLogger("silent") } = changes;
  const metrics = new Metrics();
  const pipeline = new CheckedCallPipeline({
    authenticator,
    usePool: (namespace) => ({ rootPool: rootPoolFor(namespace), release: () => onRelease?.(namespace) }),
    limits: DEFAULT_LIMITS,
    serverLimits: { ...DEFAULT_SERVER_LIMITS, ...serverLimits },
    quotas,
    metrics,
    logger,
  });
  return { pipeline, metrics };
}

function frontCall(changes: Partial<FrontCall> = {}): FrontCall {
  const admission = new Admissions(DEFAULT_SERVER_LIMITS, { perKey: false }).admit("call", READER, undefined);
  return { ...ARRIVAL, admission, signal: new AbortController().signal, ...changes };
}

function unaryMethod(unary: (context: ApiContext) => Promise<Message>): ApiMethod {
  const desc = MessageService.method.countMessages;
  return {
    desc,
    scope: "read",
    ticket: "none",
    grpcOnly: false,
    isAudited: false,
    unary: (_request, context) => unary(context),
  };
}

function streamMethod(stream: (context: ApiContext) => AsyncIterable<Message>): ApiMethod {
  const desc = MessageService.method.watchMessages;
  return {
    desc,
    scope: "read",
    ticket: "none",
    grpcOnly: false,
    isAudited: false,
    stream: async (_request, context) => stream(context),
  };
}

/** A stream that sends no events and never ends. */
function silentStream(onBegin: (context: ApiContext) => void = () => undefined): ApiMethod {
  return streamMethod((context) => {
    onBegin(context);
    return { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }) };
  });
}

function uploadMethod(upload: (rest: AsyncIterable<Message>, context: ApiContext) => Promise<Message>): ApiMethod {
  const desc = AttachmentService.method.uploadAttachment;
  const implementation: ApiMethod["upload"] = (_first, rest, context) => upload(rest, context);
  return { desc, scope: "write", ticket: "none", grpcOnly: false, isAudited: false, upload: implementation };
}

async function* sent(...messages: Message[]): AsyncGenerator<Message> {
  yield* messages;
}

/** What a client sends who sends nothing and does not end. */
function silence(): AsyncIterable<Message> {
  return { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) };
}

async function collect(events: AsyncIterable<Message>): Promise<Message[]> {
  const all: Message[] = [];
  for await (const event of events) all.push(event);
  return all;
}

function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
