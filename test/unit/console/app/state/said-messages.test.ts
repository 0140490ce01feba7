import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";

interface Hit {
  readonly sessionId: string;
  readonly messageId: string;
  readonly role: string;
  readonly snippet: string;
}

interface SaidMessages {
  read(signal: AbortSignal): Promise<{ readonly hits: readonly Hit[]; readonly nextPageToken: string }>;
}

let list: (filter: object) => SaidMessages;
let asked: string[] = [];

const text = (words: string) => [{ type: "text", text: words }];
const message = (id: string, role: string, parts: readonly object[], originSessionId = "") => ({
  info: { id, role, timestamp: "2026-11-25T12:00:00Z", position: "3", originSessionId },
  parts,
});
const CALL = message("a1", "assistant", [{ type: "tool_use", text: "", data: { id: "c1", name: "bash", input: {} } }]);
const RESULT = message("u2", "user", [{ type: "tool_result", text: "", data: { tool_use_id: "c1", content: "ok" } }]);
const QUESTION = message("u1", "user", text("Where to?"));

/** Pages of messages by session; the newest message first. */
const MESSAGES: Readonly<Record<string, readonly (readonly object[])[] | undefined>> = {
  fork: [
    [message("f1", "user", text("Or by ship?")), { ...QUESTION, info: { ...QUESTION.info, originSessionId: "trip" } }],
  ],
  trip: [[RESULT, CALL], [QUESTION]],
};

beforeAll(async () => {
  vi.stubGlobal("sessionStorage", { getItem: () => null });
  vi.stubGlobal("location", { hash: "" });
  vi.stubGlobal("document", { baseURI: "http://localhost/", hidden: false, addEventListener: () => undefined });
  vi.stubGlobal("fetch", async (address: string | URL) => {
    const url = new URL(`${address}`, "http://localhost/");
    asked.push(`${url.pathname}${url.search}`);
    const [, , sessionId, kind] = url.pathname.split("/");
    const page = Number(url.searchParams.get("page_token") ?? 0);
    if (kind === undefined) {
      const sessions = [["fork", "gone"], ["trip"]][page]?.map((id) => ({ sessionId: id, title: `The ${id}` }));
      return Response.json({ sessions, nextPageToken: page === 0 ? "1" : "" });
    }
    const pages = MESSAGES[sessionId ?? ""];
    if (pages === undefined) return Response.json({ code: 5, message: "Session not found" }, { status: 404 });
    return Response.json({ messages: pages[page], nextPageToken: page + 1 < pages.length ? `${page + 1}` : "" });
  });
  // A name that the compiler does not follow, because it checks the page with the types of browsers.
  const page = "../../../../../src/console/app/state/said-messages.js";
  const { SaidMessages } = await import(page);
  list = (filter) => new SaidMessages({ role: "", ...filter });
});
afterAll(() => void vi.unstubAllGlobals());
beforeEach(() => {
  asked = [];
});

async function all(filter: object): Promise<readonly string[]> {
  const said = list(filter);
  const found: string[] = [];
  for (let next = "more"; next !== ""; ) {
    const page = await said.read(new AbortController().signal);
    found.push(...page.hits.map(({ sessionId, role, snippet }) => `${sessionId} ${role}: ${snippet}`));
    next = page.nextPageToken;
  }
  return found;
}

it("lists what was said, session by session, each message of a fork once, without sessions that are gone", async () => {
  expect(await all({})).toEqual([
    "fork user: Or by ship?",
    "fork user: Where to?",
    "trip tool: result of bash",
    "trip assistant: calls bash",
  ]);
});

it("does not take what a tool answered for a question of the user", async () => {
  expect(await all({ role: "user" })).toEqual(["fork user: Or by ship?", "fork user: Where to?"]);
  expect(await all({ role: "tool" })).toEqual(["trip tool: result of bash"]);
  expect(await all({ role: "assistant" })).toEqual(["trip assistant: calls bash"]);
});

it("has the service narrow the sessions by their owner and their last change, and the messages by their time", async () => {
  await all({ owner: "ada", since: "2026-11-16T00:00:00Z", until: "2026-11-23T00:00:00Z" });
  const [sessions = "", messages = ""] = asked.map(decodeURIComponent);
  expect(sessions).toContain("/session?updated_since=2026-11-16T00:00:00Z");
  expect(sessions).toContain("owner=ada");
  expect(sessions).not.toContain("2026-11-23");
  expect(messages).toContain("/session/fork/message?");
  expect(messages).toContain("newest_first=true&since=2026-11-16T00:00:00Z&until=2026-11-23T00:00:00Z");
});
