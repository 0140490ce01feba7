import { signal } from "@preact/signals";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";

interface Shown {
  readonly text: string;
  readonly action?: { readonly run: () => void };
}

let toasts: { readonly value: readonly Shown[] };
let toast: (text: string, options?: object) => void;
let dismissAbout: (sessionId: string) => void;
let attempt: (what: string, action: () => Promise<void>) => Promise<boolean>;
let newConflict: () => Error;

beforeAll(async () => {
  vi.stubGlobal("sessionStorage", { getItem: () => null });
  vi.stubGlobal("location", { hash: "" });
  vi.stubGlobal("document", { baseURI: "http://localhost/" });
  // A name that the compiler does not follow, because it checks the page with the types of browsers.
  const page = "../../../../../src/console/app/state/toasts.js";
  ({ toasts, toast, dismissAbout, attempt } = await import(page));
  const http = "../../../../../src/console/app/api/http.js";
  const { ApiError, CODE } = await import(http);
  newConflict = () => new ApiError(CODE.aborted, "Session s is at revision 2");
});
afterAll(() => void vi.unstubAllGlobals());

beforeEach(() => void vi.useFakeTimers());

afterEach(() => {
  vi.runAllTimers();
  vi.useRealTimers();
});

const texts = () => toasts.value.map(({ text }) => text);

it("a note goes away when its action is over, and does not come back", () => {
  const isReverted = signal(true);
  toast("2 messages reverted", { isOver: () => !isReverted.value });
  toast("another");
  expect(texts()).toEqual(["2 messages reverted", "another"]);
  isReverted.value = false;
  expect(texts()).toEqual(["another"]);
  isReverted.value = true;
  expect(texts()).toEqual(["another"]);
});

it("a note whose session is gone goes away, and each after some seconds", () => {
  toast("Shared as a", { about: "a" });
  toast("Shared as b", { about: "b" });
  dismissAbout("a");
  expect(texts()).toEqual(["Shared as b"]);
  vi.runAllTimers();
  expect(texts()).toEqual([]);
});

it("a newer note of the same takes the place of the older one", () => {
  toast("The link is copied");
  toast("The link is copied");
  toast("2 messages reverted", { key: "revert" });
  toast("1 message reverted", { key: "revert" });
  expect(texts()).toEqual(["The link is copied", "1 message reverted"]);
});

it("a note goes away when nobody hears any more whether its action is over", () => {
  const closed = new AbortController();
  toast("Message #1 is changed", { until: closed.signal });
  closed.abort();
  expect(texts()).toEqual([]);
});

it("what met another change is tried again, first unasked and then on demand", async () => {
  let tries = 0;
  const run = attempt("Unrevert", async () => {
    tries += 1;
    if (tries < 5) throw newConflict();
  });
  await vi.runAllTimersAsync();
  // Time has run past the end of the note.
  expect([await run, tries]).toEqual([false, 3]);
  const again = attempt("Unrevert", async () => {
    throw newConflict();
  });
  await vi.advanceTimersByTimeAsync(1000);
  expect(await again).toBe(false);
  expect(texts()).toEqual([
    "Unrevert did not work. Session s is at revision 2. It changed at the same moment, so nothing was done: try again.",
  ]);
  expect(toasts.value[0]?.action).toMatchObject({ label: "Try again" });
});
