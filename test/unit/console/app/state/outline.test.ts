import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Message, Part } from "../../../../../src/console/app/api/types.js";

interface Outline {
  readonly entries: { readonly value: readonly Record<string, unknown>[] };
  readonly first: { readonly value: unknown };
  readonly isGrowing: { readonly value: boolean };
  read(): Promise<void>;
  take(edit: unknown): void;
}

let outline: Outline;
let newOutline: () => Outline;
/** The messages of the session, oldest first. */
let messages: Message[];
/** Whether the outline said that it was still reading, at each request for older messages. */
let growing: boolean[];

beforeAll(async () => {
  vi.stubGlobal("sessionStorage", { getItem: () => null });
  vi.stubGlobal("location", { hash: "" });
  vi.stubGlobal("document", { baseURI: "http://localhost/" });
  vi.stubGlobal("fetch", async (address: string | URL) => {
    const { searchParams } = new URL(`${address}`, "http://localhost/");
    if (!searchParams.has("newest_first")) return Response.json({ messages, nextPageToken: "" });
    const from = Number(searchParams.get("page_token"));
    if (from > 0) growing.push(outline.isGrowing.value);
    const next = from + Number(searchParams.get("limit"));
    const page = messages.toReversed().slice(from, next);
    return Response.json({ messages: page, nextPageToken: next < messages.length ? `${next}` : "" });
  });
  // A name that the compiler does not follow, because it checks the page with the types of browsers.
  const page = "../../../../../src/console/app/state/outline.js";
  const { Outline } = await import(page);
  newOutline = () => new Outline("s");
});
afterAll(() => void vi.unstubAllGlobals());

beforeEach(() => {
  messages = [];
  growing = [];
  outline = newOutline();
});

function add(role: string, ...parts: Partial<Part>[]): Message {
  const position = messages.length;
  const message: Message = {
    info: { id: `m${position}`, role, timestamp: "2026-01-01T00:00:00Z", position: `${position}` },
    parts: parts.map((part) => ({ id: "", type: "text", text: "", ...part })),
  };
  messages.push(message);
  return message;
}

const ask = (text: string) => add("user", { text });
const call = (id: string, name: string): Partial<Part> => ({ type: "tool_use", data: { id, name, input: {} } });
const failure = (id: string, text: string): Partial<Part> => ({
  type: "tool_result",
  text,
  data: { tool_use_id: id, is_error: true },
});

const shown = () => outline.entries.value.map(({ position, name, text }) => [position, name ?? "asked", text]);

describe("the outline", () => {
  it("names the tools of failed calls, in one message or in several, in any order", async () => {
    ask("go");
    add("assistant", call("c1", "get_invoice"), failure("c1", "timeout"), call("c2", "pay"), failure("c2", "refused"));
    add("assistant", call("c3", "read"), call("c4", "write"));
    add("tool", failure("c4", "full"), failure("c3", "gone"));
    add("tool", failure("c5", "nobody called"));
    await outline.read();
    expect(shown()).toEqual([
      [0, "asked", "go"],
      [1, "get_invoice", "timeout"],
      [1, "pay", "refused"],
      [2, "write", "full"],
      [2, "read", "gone"],
      [4, "tool", "nobody called"],
    ]);
  });

  it("says that it is still reading until it has read as far as it will, and not when it reads that again", async () => {
    for (let i = 0; i < 450; i++) ask(`${i}`);
    await outline.read();
    expect([growing, outline.isGrowing.value]).toEqual([[true, true], false]);
    await outline.read();
    expect(growing).toEqual([true, true, false, false]);
  });

  it("knows the call of a result that does not name its tool", async () => {
    add("assistant", call("c1", "read"));
    const result = add("tool", { text: "fine" });
    await outline.read();
    outline.take({
      kind: "updated",
      message: { ...result, parts: [{ ...add("tool", failure("c1", "gone")).parts[0] }] },
    });
    expect(outline.entries.value).toMatchObject([{ name: "tool", callId: "c1", text: "gone" }]);
  });

  it("drops what a truncation has removed at once, also a failure whose call stays", async () => {
    ask("first");
    add("assistant", call("c1", "read"));
    add("tool", failure("c1", "gone"));
    ask("second");
    await outline.read();
    outline.take({ kind: "truncated", count: 3 });
    expect(shown()).toEqual([
      [0, "asked", "first"],
      [1, "read", "gone"],
    ]);
    outline.take({ kind: "truncated", count: 2 });
    expect(shown()).toEqual([[0, "asked", "first"]]);
    outline.take({ kind: "truncated", count: 0 });
    expect(shown()).toEqual([]);
  });

  it("moves up what follows a deleted message, and replaces what an update changes", async () => {
    ask("first");
    ask("second");
    add("assistant", call("c1", "read"), failure("c1", "gone"));
    await outline.read();
    outline.take({ kind: "deleted", position: 0 });
    expect(shown()).toEqual([
      [0, "asked", "second"],
      [1, "read", "gone"],
    ]);
    const [, changed] = messages;
    const message = { info: { ...changed!.info, position: "0" }, parts: [{ id: "", type: "text", text: "third" }] };
    outline.take({ kind: "updated", message });
    expect(shown()).toEqual([
      [0, "asked", "third"],
      [1, "read", "gone"],
    ]);
  });

  it("shows nothing of a read that an edit has overtaken", async () => {
    ask("kept");
    ask("removed");
    const reading = outline.read();
    outline.take({ kind: "truncated", count: 1 });
    messages.pop();
    await reading;
    expect(shown()).toEqual([]);
    await outline.read();
    expect(shown()).toEqual([[0, "asked", "kept"]]);
  });
});
