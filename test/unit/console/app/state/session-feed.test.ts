import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";

interface Reader {
  read(changed: ReadonlySet<string> | undefined): Promise<void>;
  onDeleted(sessionId: string): void;
  onProblem(error: unknown): void;
  pause(milliseconds: number): Promise<void>;
  signal: AbortSignal;
}

let followFeed: (filter: object, reader: Reader) => Promise<boolean>;
/** What the server answers, one after the other: lines of a stream, or the code of an error. */
let answers: (readonly object[] | number)[] = [];
let asked: string[] = [];
let told: unknown[] = [];
let stop = new AbortController();

beforeAll(async () => {
  vi.stubGlobal("sessionStorage", { getItem: () => null });
  vi.stubGlobal("location", { hash: "" });
  vi.stubGlobal("document", { baseURI: "http://localhost/", hidden: false, addEventListener: () => undefined });
  vi.stubGlobal("fetch", async (address: string) => {
    asked.push(address);
    const answer = answers.shift();
    if (answer === undefined) {
      stop.abort();
      throw new TypeError("Failed to fetch");
    }
    if (typeof answer === "number") return Response.json({ code: answer, message: "no" }, { status: 400 });
    return new Response(answer.map((result) => `${JSON.stringify({ result })}\n`).join(""));
  });
  // A name that the compiler does not follow, because it checks the page with the types of browsers.
  const page = "../../../../../src/console/app/state/session-feed.js";
  ({ followFeed } = await import(page));
});
afterAll(() => void vi.unstubAllGlobals());
beforeEach(() => {
  [answers, asked, told, stop] = [[], [], [], new AbortController()];
});

function follow(): Promise<boolean> {
  return followFeed(
    { labels: ["team=ops"] },
    {
      read: async (changed) => void told.push(changed && [...changed]),
      onDeleted: (sessionId) => void told.push(`deleted ${sessionId}`),
      onProblem: (error) => void told.push(`${error}`),
      pause: async () => undefined,
      signal: stop.signal,
    },
  );
}

it("reads the list when the feed has begun, tells what is deleted, and resumes after the last event", async () => {
  answers = [
    [
      { heartbeat: {}, resumeToken: "t1" },
      { deleted: { sessionId: "a" }, resumeToken: "t2" },
    ],
    [{ heartbeat: {}, resumeToken: "t3" }],
  ];
  expect(await follow()).toBe(true);
  expect(told).toEqual([undefined, "deleted a", undefined]);
  expect(asked).toEqual([
    "./session:watch?label=team%3Dops",
    "./session:watch?label=team%3Dops&resume_token=t2",
    "./session:watch?label=team%3Dops&resume_token=t3",
  ]);
});

it("begins anew when its token is too old", async () => {
  answers = [[{ heartbeat: {}, resumeToken: "t1" }], 9, []];
  await follow();
  expect(asked.map((address) => /resume_token=(.*)/.exec(address)?.[1])).toEqual([
    undefined,
    "t1",
    undefined,
    undefined,
  ]);
  // Once for each feed that has begun without a token.
  expect(told).toEqual([undefined, undefined]);
});

it("says that there is no feed when the server or its store has none", async () => {
  answers = [12];
  expect([await follow(), told]).toEqual([false, []]);
});

it("gives up when the key is refused", async () => {
  answers = [16];
  await expect(follow()).rejects.toMatchObject({ code: 16 });
});
