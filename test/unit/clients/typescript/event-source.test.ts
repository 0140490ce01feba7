import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  Code,
  ConnectError,
  createSessionPoolClient,
  type WatchOptions,
} from "../../../../clients/typescript/src/index.js";
import { poll } from "../../../support/poll.js";

const BASE = "http://sessions.example";
const CONNECTING = 0;
const CLOSED = 2;

/** Stands for a browser's EventSource. Each one that was made is in `made`. */
class FakeEventSource extends EventTarget {
  static made: FakeEventSource[] = [];
  readyState = CONNECTING;
  readonly url: string;

  constructor(url: string) {
    super();
    this.url = url;
    FakeEventSource.made.push(this);
  }

  close(): void {
    this.readyState = CLOSED;
  }

  send(kind: string, data: object): void {
    this.dispatchEvent(new MessageEvent(kind, { data: JSON.stringify(data) }));
  }

  /** Loses the connection, or has its request refused. */
  fail(readyState: number): void {
    this.readyState = readyState;
    this.dispatchEvent(new Event("error"));
  }
}

beforeEach(() => {
  FakeEventSource.made = [];
  vi.stubGlobal("EventSource", FakeEventSource);
});
afterEach(() => void vi.unstubAllGlobals());

const problem = (status: number, code: Code, message: string, headers = {}) =>
  new Response(JSON.stringify({ code, message, details: [] }), { status, headers });

/** Watches from a position by EventSource. `answers`: those to the requests that ask why an EventSource was refused. */
function watching(answers: Response[] = [], options: WatchOptions = {}) {
  const asked: string[] = [];
  const fetch: typeof globalThis.fetch = async (url) => {
    asked.push(`${url}`);
    return answers.shift() ?? Promise.reject(new TypeError("Failed to fetch"));
  };
  const seen: string[] = [];
  const faults: string[] = [];
  const client = createSessionPoolClient({ baseUrl: BASE, ticket: "tick.et", fetch });
  const onRetry = ({ rawMessage }: Error & { rawMessage: string }) => faults.push(rawMessage);
  const watch = client.watch("a/b", { fromPosition: 3, eventSource: true, onRetry, ...options });
  const end = (async () => {
    for await (const { event } of watch)
      seen.push(event.case === "appended" ? `${event.value.info?.id}` : `${event.case}`);
  })();
  // Every case awaits the end. This handler keeps Node from ending the process before that.
  end.catch(() => {});
  return { seen, faults, asked, end };
}

const source = async (number: number): Promise<FakeEventSource> => {
  await poll(() => FakeEventSource.made.length > number, `EventSource ${number} was made`);
  return FakeEventSource.made[number] as FakeEventSource;
};

const appended = (id: string) => ({
  appended: { info: { id, role: "user", position: "3" }, parts: [] },
  resumeToken: `after ${id}`,
});

describe("a watch by EventSource", () => {
  it("sends the ticket in the query, and goes on after the last event when the connection was lost", async () => {
    const stop = new AbortController();
    const { seen, faults, asked, end } = watching([], { signal: stop.signal });
    const first = await source(0);
    expect(first.url).toBe(`${BASE}/session/a%2Fb/message:watch?from_position=3&ticket=tick.et`);
    first.send("appended", appended("m"));
    first.fail(CONNECTING);
    const second = await source(1);
    expect(second.url).toBe(`${BASE}/session/a%2Fb/message:watch?resume_token=after+m&ticket=tick.et`);
    second.send("draftEnded", { draftEnded: { messageId: "d" }, resumeToken: "later" });
    await poll(() => seen.length === 2, "both events are seen");
    stop.abort();
    await end;
    expect({ seen, faults, asked }).toEqual({
      seen: ["m", "draftEnded"],
      faults: ["The connection was lost"],
      asked: [],
    });
    expect(FakeEventSource.made.map(({ readyState }) => readyState)).toEqual([CLOSED, CLOSED]);
  });

  it("asks once why it was refused, and ends with the service's error", async () => {
    const { asked, end } = watching([problem(401, Code.Unauthenticated, "The ticket has expired")]);
    const first = await source(0);
    first.fail(CLOSED);
    await expect(end).rejects.toMatchObject({ code: Code.Unauthenticated, rawMessage: "The ticket has expired" });
    expect(asked).toEqual([first.url]);
  });

  it("ends with the error that the stream ends with", async () => {
    const { seen, asked, end } = watching();
    const first = await source(0);
    first.send("appended", appended("m"));
    first.send("error", { code: Code.Unauthenticated, message: "The ticket was revoked" });
    await expect(end).rejects.toMatchObject({ code: Code.Unauthenticated, rawMessage: "The ticket was revoked" });
    expect({ seen, asked, state: first.readyState }).toEqual({ seen: ["m"], asked: [], state: CLOSED });
  });

  it("tries again when the server is busy, cannot be reached or serves again, and after a proxy's page", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const stop = new AbortController();
    const { faults, end } = watching(
      [
        problem(429, Code.ResourceExhausted, "Too many calls", { "retry-after": "1" }),
        new Response("<h1>Bad gateway</h1>", { status: 502 }),
        new Response("data: …"),
      ],
      { signal: stop.signal },
    );
    for (let number = 0; number < 4; number++) {
      const one = await source(number);
      one.fail(CLOSED);
      await poll(() => faults.length > number, "the client waits before it connects again");
      vi.advanceTimersByTime(10_000);
    }
    stop.abort();
    await end;
    vi.useRealTimers();
    expect(faults).toEqual([
      "Too many calls",
      "The request was refused",
      "The stream ended",
      `${BASE}: Failed to fetch`,
    ]);
  });

  it("ends with the error of an event that is none", async () => {
    const { end } = watching();
    (await source(0)).send("appended", { appended: 5 });
    await expect(end).rejects.toThrow(/cannot decode message/);
  });

  it("is refused with a key, with a transport, and where there is no EventSource", () => {
    const watch = (options: object) => createSessionPoolClient(options).watch("s", { eventSource: true });
    expect(() => watch({ baseUrl: BASE, key: "k" })).toThrow(/EventSource sends no key/);
    expect(() => watch({ transport: {} })).toThrow(/cannot use a transport/);
    vi.stubGlobal("EventSource", undefined);
    expect(() => watch({ baseUrl: BASE })).toThrow("There is no EventSource here");
  });

  it("is chosen where fetch has no streams, unless the client has a fetch of its own", async () => {
    const plain = createSessionPoolClient({ baseUrl: BASE, ticket: "t" });
    vi.stubGlobal("ReadableStream", undefined);
    void plain
      .watch("s", { fromPosition: 0 })
      .next()
      .catch(() => {});
    expect((await source(0)).url).toContain("ticket=t");
    const ended = () => Promise.reject(new ConnectError("gone", Code.NotFound));
    const other = createSessionPoolClient({ baseUrl: BASE, ticket: "t", fetch: ended });
    await expect(other.watch("s", { fromPosition: 0 }).next()).rejects.toThrow("gone");
    expect(FakeEventSource.made).toHaveLength(1);
    FakeEventSource.made[0]?.send("error", { code: Code.NotFound, message: "gone" });
  });
});
