import { signal } from "@preact/signals";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";

interface Shown {
  readonly text: string;
}

let toasts: { readonly value: readonly Shown[] };
let toast: (text: string, options?: object) => void;
let dismissAbout: (sessionId: string) => void;

beforeAll(async () => {
  vi.stubGlobal("sessionStorage", { getItem: () => null });
  vi.stubGlobal("location", { hash: "" });
  vi.stubGlobal("document", { baseURI: "http://localhost/" });
  // A name that the compiler does not follow, because it checks the page with the types of browsers.
  const page = "../../../../../src/console/app/state/toasts.js";
  ({ toasts, toast, dismissAbout } = await import(page));
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
