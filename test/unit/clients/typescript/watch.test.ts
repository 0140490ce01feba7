import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createSessionPoolClient, type WatchOptions } from "../../../../clients/typescript/src/index.js";
import { MessageService, type WatchMessagesRequest } from "../../../../gen/sessionpool/v1/message_service_pb.js";
import { poll } from "../../../support/poll.js";

type Connection = (signal: AbortSignal) => AsyncGenerator<object, void, undefined>;

/**
 * Watches a session of a server that serves these connections, one after the other. Resolves to where each connection
 * was asked to start, the ids of the messages that were seen, the errors that were retried and the one that ended it.
 * `seen` grows while it watches.
 */
async function watching(
  connections: readonly Connection[],
  options: WatchOptions & { count?: bigint } = {},
  seen: string[] = [],
) {
  const starts: WatchMessagesRequest[] = [];
  const transport = createRouterTransport(({ service }) => {
    service(MessageService, {
      countMessages: () => ({ count: options.count ?? 0n }),
      async *watchMessages(request, { signal }) {
        starts.push(request);
        yield* (connections[starts.length - 1] ?? gone)(signal);
      },
    });
  });
  const faults: string[] = [];
  const client = createSessionPoolClient({ transport, retries: 0 });
  const watch = client.watch("s", { ...options, onRetry: ({ rawMessage }) => faults.push(rawMessage) });
  const end = await (async () => {
    for await (const { event } of watch) {
      seen.push(event.case === "appended" ? (event.value.info?.id ?? "") : `${event.case}`);
    }
  })().catch((error: ConnectError) => error.rawMessage);
  return { starts: starts.map(({ fromPosition, resumeToken }) => resumeToken || fromPosition), seen, faults, end };
}

const appended = (id: string) => ({
  event: { case: "appended", value: { info: { id, role: "user" } } },
  resumeToken: `after ${id}`,
});

const heartbeat = (resumeToken: string) => ({ event: { case: "heartbeat", value: {} }, resumeToken });

// biome-ignore lint/correctness/useYield: a connection that only fails
async function* gone(): AsyncGenerator<object, void, undefined> {
  throw new ConnectError("Session is gone", Code.NotFound);
}

const broken = () => new ConnectError("Connection lost", Code.Unavailable);

type Told = "started" | "restarted" | "extended" | "ended" | "finished" | "appended" | "heartbeat";

const STARTS = { started: 1n, restarted: 2n } as const;

const draftOf = (start: keyof typeof STARTS) => ({
  message: { info: { id: "a", role: "assistant" } },
  startTime: { seconds: STARTS[start] },
});

/** An event that tells of the draft `a`, a message with its id, or another draft. */
function telling(told: Told): object {
  const event = () => {
    if (told === "appended") return { case: told, value: draftOf("started").message };
    if (told === "heartbeat") return { case: told, value: {} };
    if (told === "extended") return { case: "draftExtended", value: { messageId: "b", version: 2n } };
    if (told === "ended" || told === "finished")
      return { case: "draftEnded", value: { messageId: "a", finished: told === "finished" } };
    return { case: "draft", value: draftOf(told) };
  };
  return { event: event(), resumeToken: "token" };
}

/** What a watch yields over two connections. ListDrafts fails once, and then lists this before the second one. */
async function seenOf(first: readonly Told[], listed: keyof typeof STARTS | "none", second: readonly Told[]) {
  const connections = [first, second];
  let lists = 0;
  const transport = createRouterTransport(({ service }) => {
    service(MessageService, {
      getMessage: () => Promise.reject(new ConnectError("No such message", Code.NotFound)),
      listDrafts() {
        lists++;
        if (lists === 1) throw broken();
        if (lists === 3) throw new ConnectError("Session is gone", Code.NotFound);
        return { drafts: listed === "none" ? [] : [draftOf(listed)] };
      },
      async *watchMessages() {
        const told = connections.shift();
        if (told === undefined) throw new ConnectError("Session is gone", Code.NotFound);
        for (const one of told) yield telling(one);
        throw broken();
      },
    });
  });
  const seen: unknown[] = [];
  const watch = createSessionPoolClient({ transport, retries: 0 }).watch("s", { fromPosition: 0, heartbeats: true });
  const following = (async () => {
    for await (const { event } of watch) {
      if (event.case === "draft") seen.push(event.value.startTime?.seconds === 1n ? "started" : "restarted");
      else if (event.case === "draftEnded") seen.push(event.value.finished ? "finished" : "ended");
      else seen.push(event.case === "draftExtended" ? "extended" : event.case);
    }
  })();
  await expect(following).rejects.toMatchObject({ code: Code.NotFound });
  return seen;
}

describe("a watch", () => {
  it("continues after the last event or heartbeat when its connection breaks", async () => {
    const watched = await watching([
      async function* () {
        yield appended("a");
        throw broken();
      },
      async function* () {
        yield appended("b");
        yield heartbeat("later");
        throw broken();
      },
    ]);
    expect(watched).toEqual({
      starts: [0n, "after a", "later"],
      seen: ["a", "b"],
      faults: ["Connection lost", "Connection lost"],
      end: "Session is gone",
    });
  });

  it.each<[string, readonly Told[], keyof typeof STARTS | "none", readonly Told[], readonly Told[]]>([
    ["was discarded", ["started"], "none", ["extended"], ["ended", "extended"]],
    ["ended after the list, before others grow", ["started"], "started", ["extended"], ["ended", "extended"]],
    ["ended after the list, and all is quiet", ["started"], "started", ["heartbeat"], ["ended", "heartbeat"]],
    ["became a message after the list", ["started"], "started", ["appended"], ["appended", "finished"]],
    ["had become a message already", ["started", "appended"], "none", ["heartbeat"], ["finished", "heartbeat"]],
    ["was followed by another one before the list", ["started"], "restarted", ["restarted"], ["ended", "restarted"]],
    ["was followed by another one after the list", ["started"], "started", ["restarted"], ["ended", "restarted"]],
    ["ended before", ["started", "ended"], "none", ["extended", "heartbeat"], ["extended", "heartbeat"]],
    ["is still open", ["started"], "started", ["started", "heartbeat"], ["started", "heartbeat"]],
    ["ends afterwards", ["started"], "started", ["started", "ended", "heartbeat"], ["started", "ended", "heartbeat"]],
  ])("tells once after a reconnect what became of a draft that %s", async (_what, first, listed, second, after) => {
    expect(await seenOf(first, listed, second)).toEqual([...first, ...after]);
  });

  it("starts at the session's end at the call by default, even if the first connection breaks", async () => {
    const watched = await watching(
      [
        // biome-ignore lint/correctness/useYield: a connection that only fails
        async function* () {
          throw broken();
        },
      ],
      { count: 4n },
    );
    expect(watched.starts).toEqual([4n, 4n]);
  });

  it("starts at the given position or resume token", async () => {
    expect((await watching([], { fromPosition: 2 })).starts).toEqual([2n]);
    expect((await watching([], { resumeToken: "token" })).starts).toEqual(["token"]);
  });

  it("counts again when messages were removed before it started, and fails with a position past the end", async () => {
    // biome-ignore lint/correctness/useYield: a connection that only fails
    const past: Connection = async function* () {
      throw new ConnectError("Past the end", Code.InvalidArgument);
    };
    expect((await watching([past], { count: 4n })).end).toBe("Session is gone");
    expect((await watching([past], { fromPosition: 4 })).end).toBe("Past the end");
  });

  it("resumes on another connection when one is silent", async () => {
    useFakeTimeouts();
    const seen: string[] = [];
    const watched = watching([silentAfterA], { silenceMs: 60_000 }, seen);
    await poll(() => seen.length === 1, "the first event is seen");
    vi.advanceTimersByTime(60_000);
    await poll(() => vi.getTimerCount() === 1, "the client waits before it connects again");
    vi.advanceTimersByTime(1000);
    expect(await watched).toMatchObject({ seen: ["a"], faults: ["No event for 60000 ms"], starts: [0n, "after a"] });
  });

  it("never gives up a silent connection when it may be silent for ever", async () => {
    const stop = new AbortController();
    useFakeTimeouts();
    const seen: string[] = [];
    const watched = watching([silentAfterA], { silenceMs: Number.POSITIVE_INFINITY, signal: stop.signal }, seen);
    await poll(() => seen.length === 1, "the first event is seen");
    expect(vi.getTimerCount()).toBe(0);
    stop.abort();
    expect(await watched).toMatchObject({ faults: [], starts: [0n], end: undefined });
  });

  it("ends with the error when a position is not a whole number", async () => {
    const watch = createSessionPoolClient({ baseUrl: "http://127.0.0.1:1" }).watch("s", { fromPosition: 1.5 });
    await expect(watch.next()).rejects.toThrow(/^from_position must be a whole number/);
  });

  it("resumes when its stream ends in the middle of an event, and counts no messages again", async () => {
    const cut: Connection = async function* () {
      yield appended("a");
      throw new ConnectError("protocol error: incomplete envelope", Code.InvalidArgument);
    };
    expect((await watching([cut])).starts).toEqual([0n, "after a"]);
    // biome-ignore lint/correctness/useYield: a connection that only fails
    const cutAtOnce: Connection = async function* () {
      throw new ConnectError("protocol error: incomplete envelope", Code.InvalidArgument);
    };
    expect(await watching([cutAtOnce], { fromPosition: 4 })).toMatchObject({
      starts: [4n, 4n],
      end: "Session is gone",
    });
  });

  it("reads a body that ends in the middle of an event as such", async () => {
    const cutShort = () =>
      new Response(new Uint8Array([0, 0, 0, 0, 9, 1]), { headers: { "content-type": "application/connect+proto" } });
    const faults: string[] = [];
    const stop = new AbortController();
    const client = createSessionPoolClient({ baseUrl: "http://127.0.0.1:1", fetch: async () => cutShort() });
    const onRetry = ({ rawMessage }: ConnectError) => {
      faults.push(rawMessage);
      stop.abort();
    };
    await client.watch("s", { fromPosition: 0, signal: stop.signal, onRetry }).next();
    expect(faults).toEqual(["protocol error: incomplete envelope"]);
  });

  it("resumes after the server has ended it because its reader did not keep up", async () => {
    const slow: Connection = async function* () {
      yield appended("a");
      throw new ConnectError("Does not keep up", Code.ResourceExhausted);
    };
    expect((await watching([slow])).starts).toEqual([0n, "after a"]);
  });

  it("ends without an error when it is canceled", async () => {
    const stop = new AbortController();
    const watched = await watching(
      [
        async function* (signal) {
          yield appended("a");
          stop.abort();
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
        },
      ],
      { signal: stop.signal },
    );
    expect(watched).toMatchObject({ seen: ["a"], end: undefined, faults: [] });
  });
});

const silentAfterA: Connection = async function* (signal) {
  yield appended("a");
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
};

function useFakeTimeouts(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
}
