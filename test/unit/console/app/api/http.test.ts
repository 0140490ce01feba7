import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { poll } from "../../../../support/poll.js";

interface Followed {
  readonly signal: AbortSignal;
  onOpen(): Promise<void>;
  onEvent(event: unknown): void;
}

let follow: (path: string, followed: Followed) => Promise<void>;

beforeAll(async () => {
  vi.stubGlobal("sessionStorage", { getItem: () => null });
  vi.stubGlobal("location", { hash: "" });
  vi.stubGlobal("document", { baseURI: "http://localhost/" });
  // A name that the compiler does not follow, because it checks the page with the types of browsers.
  const page = "../../../../../src/console/app/api/http.js";
  ({ follow } = await import(page));
});
afterAll(() => void vi.unstubAllGlobals());

/** Follows a stream of which only this text has come so far. */
function following(text: string, onOpen = async () => {}) {
  const stream = { isCanceled: false, events: [] as unknown[] };
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode(text)),
    cancel: () => {
      stream.isCanceled = true;
    },
  });
  vi.stubGlobal("fetch", async () => new Response(body));
  const { signal } = new AbortController();
  const onEvent = (event: unknown) => stream.events.push(event);
  const end = follow("/session/s/message:watch", { signal, onOpen, onEvent }).catch((error) => error);
  return { stream, end };
}

it("gives up a stream on which nothing has come for 45 seconds", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { stream, end } = following('{"result":{"resumeToken":"a"}}\n');
  await poll(() => stream.events.length === 1 && vi.getTimerCount() === 1, "the stream waits for the next event");
  vi.advanceTimersByTime(45_000);
  expect((await end).message).toBe("The server cannot be reached");
  await poll(() => stream.isCanceled, "the connection is closed");
});

it("gives up a stream whose opening takes 45 seconds", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { stream, end } = following("", () => new Promise(() => {}));
  await poll(() => vi.getTimerCount() === 1, "the opening is waited for");
  vi.advanceTimersByTime(45_000);
  expect((await end).message).toBe("The server cannot be reached");
  await poll(() => stream.isCanceled, "the connection is closed");
});

it("closes the connection of a stream that holds what it cannot read", async () => {
  const { stream, end } = following("nonsense\n");
  expect(await end).toBeInstanceOf(SyntaxError);
  await poll(() => stream.isCanceled, "the connection is closed");
});
