import { expect, it } from "vitest";
import { viewsOfParts } from "../../../../../src/parts/recognise.js";
import { lines, newTarget, outline } from "./imported.js";

const SESSION = "1d1f8f2e-0000-4000-8000-000000000001";
const COMMON = { sessionId: SESSION, cwd: "/work", version: "2.0.1", gitBranch: "main", userType: "external" };
let clock = 0;

function line(uuid: string, parentUuid: string | null, type: string, content: unknown, more: object = {}) {
  clock += 1;
  const timestamp = `2025-11-03T10:00:${String(clock % 60).padStart(2, "0")}.250Z`;
  const message = {
    role: type,
    content,
    ...(type === "assistant" && { id: `msg_${uuid}`, model: "opus", type: "message" }),
  };
  return { parentUuid, isSidechain: false, ...COMMON, type, message, uuid, timestamp, ...more };
}

const call = (id: string, name: string, input: object) => ({ type: "tool_use", id, name, input });
const result = (id: string, content: unknown, more: object = {}) => [
  { type: "tool_result", tool_use_id: id, content, ...more },
];

const TURN = [
  line("u1", null, "user", "Why does it crash?\nSecond line"),
  line("a1", "u1", "assistant", [{ type: "thinking", thinking: "Look first", signature: "s" }]),
  line("a2", "a1", "assistant", [call("t1", "Read", { file: "a" })]),
  line("a3", "a2", "assistant", [call("t2", "Read", { file: "b" })]),
  line("r1", "a2", "user", result("t1", "text of a"), { toolUseResult: { file: "a" } }),
  line("r2", "a3", "user", result("t2", [{ type: "text", text: "no b" }], { is_error: true })),
  line("a4", "r2", "assistant", [{ type: "text", text: "Because of a" }]),
];

it("a transcript is one session, with the results of calls that were made at once, in the order of the file", async () => {
  const file = lines({ type: "file-history-snapshot", messageId: "x", snapshot: {} }, ...TURN);
  const target = newTarget();
  for (let i = 0; i < 2; i++) {
    const all = await target.import(`${SESSION}.jsonl`, file);
    expect(Object.keys(all)).toEqual([SESSION]);
    const { session, messages } = all[SESSION]!;
    expect(session).toMatchObject({
      title: "Why does it crash?",
      createTimeMicros: Date.parse(TURN[0]!.timestamp) * 1000,
      updateTimeMicros: Date.parse(TURN[6]!.timestamp) * 1000,
      metadata: { claude_code: { cwd: "/work", gitBranch: "main" } },
    });
    expect(outline(all[SESSION]!)).toEqual([
      "user: Why does it crash?\nSecond line",
      "assistant: Look first",
      "assistant: tool_use",
      "assistant: tool_use",
      "tool: text of a",
      "tool: no b",
      "assistant: Because of a",
    ]);
    expect(messages.map(({ id }) => id)).toEqual(["u1", "a1", "a2", "a3", "r1", "r2", "a4"]);
    expect(messages[0]?.metadata).toBeUndefined();
    expect(messages[4]?.metadata).toEqual({ claude_code: { toolUseResult: { file: "a" } } });
    const views = messages.flatMap(({ parts }) => viewsOfParts(parts));
    expect(views).toMatchObject([
      { kind: "text" },
      { kind: "reasoning", text: "Look first" },
      { kind: "call", callId: "t1", name: "Read", args: { file: "a" } },
      { kind: "call", callId: "t2" },
      { kind: "result", callId: "t1", isError: false, output: { text: "text of a" } },
      { kind: "result", callId: "t2", isError: true, output: { text: "no b" } },
      { kind: "text", text: "Because of a" },
    ]);
  }
});

it("a prompt that the user went back to becomes a fork, and the newest branch is the session", async () => {
  const all = await newTarget().import(
    "rewound.jsonl",
    lines(
      ...TURN,
      line("u2", "a4", "user", "Fix it"),
      line("a5", "u2", "assistant", [{ type: "text", text: "Fixed" }]),
      line("u3", "a5", "user", "And test"),
      line("u2b", "a4", "user", "Explain instead"),
      line("a6", "u2b", "assistant", [{ type: "text", text: "It is so" }]),
    ),
  );
  expect(Object.keys(all)).toHaveLength(2);
  expect(outline(all[SESSION]!).slice(-3)).toEqual([
    "assistant: Because of a",
    "user: Explain instead",
    "assistant: It is so",
  ]);
  const fork = all[`${SESSION}~u2`]!;
  expect(fork.session).toMatchObject({ parentId: SESSION, forkPointId: "a4", inheritedCount: 7 });
  expect(outline(fork).slice(-3)).toEqual(["user: Fix it", "assistant: Fixed", "user: And test"]);
});

it("what Claude Code says in the user's name is not the user's, and commands read as they were typed", async () => {
  const all = await newTarget().import(
    "hidden.jsonl",
    lines(
      line("m", null, "user", "Caveat: not for the user", { isMeta: true }),
      line("c", "m", "user", "<command-name>/model</command-name><command-args>opus</command-args>"),
      line("o", "c", "user", "<local-command-stdout>Set model</local-command-stdout>"),
      line("u", "o", "user", [
        { type: "text", text: "<system-reminder>Be nice</system-reminder>" },
        { type: "text", text: "Hello" },
      ]),
      line("i", "u", "user", [{ type: "text", text: "[Request interrupted by user]" }]),
      { ...COMMON, type: "progress", uuid: "p", parentUuid: "i", data: {} },
      line("s", "p", "user", "Summary so far", { isCompactSummary: true, isVisibleInTranscriptOnly: true }),
      { ...COMMON, type: "system", subtype: "local_command", content: "done", uuid: "y", parentUuid: "s" },
      {
        ...COMMON,
        type: "attachment",
        attachment: { type: "queued_command", prompt: "Also this" },
        uuid: "q",
        parentUuid: "y",
      },
    ),
  );
  const { messages } = all[SESSION]!;
  expect(messages.map(({ id, role }) => [id, role])).toEqual([
    ["m", "system"],
    ["c", "user"],
    ["o", "system"],
    ["u", "user"],
    ["i", "system"],
    ["s", "system"],
    ["y", "system"],
    ["q", "user"],
  ]);
  expect(messages[1]?.parts[0]).toMatchObject({ type: "text", text: "/model opus" });
  expect(all[SESSION]?.session.title).toBe("/model opus");
  expect(messages[3]?.parts.filter(({ type }) => type === "text")).toMatchObject([{ text: "Hello" }]);
});

it("subagents are children of their session, in one file with it or in their own", async () => {
  const agent = { isSidechain: true, agentId: "a17" };
  const file = lines(...TURN.slice(0, 2), line("s1", null, "user", "Search for it", agent));
  const target = newTarget();
  await target.import("with-agent.jsonl", file);
  const grown = lines(
    line("s1", null, "user", "Search for it", agent),
    line("s2", "s1", "assistant", [{ type: "text", text: "Found" }], agent),
  );
  const all = await newTarget().import("agent-a17.jsonl", grown);
  expect(all[`${SESSION}~agent-a17`]).toMatchObject({ session: { parentId: SESSION, title: "Search for it" } });
  const both = await target.import("with-agent.jsonl", file);
  expect(Object.keys(both).sort()).toEqual([SESSION, `${SESSION}~agent-a17`]);
});

it("titles come from the user, else from a summary of this session", async () => {
  const summary = (leafUuid: string, text: string) => ({ type: "summary", summary: text, leafUuid });
  const file = [summary("elsewhere", "Another session"), ...TURN, summary("a4", "The crash")];
  expect((await newTarget().import("summary.jsonl", lines(...file)))[SESSION]?.session.title).toBe("The crash");
  const titled = [...file, { type: "custom-title", customTitle: "Mine", sessionId: SESSION }];
  expect((await newTarget().import("titled.jsonl", lines(...titled)))[SESSION]?.session.title).toBe("Mine");
});

it("a compacted transcript goes on, and lines whose parents are lost follow those before them", async () => {
  const target = newTarget();
  const all = await target.import(
    "compacted.jsonl",
    lines(
      ...TURN,
      "this is not JSON",
      {
        ...COMMON,
        type: "system",
        subtype: "compact_boundary",
        content: "Compacted",
        uuid: "b",
        parentUuid: null,
        logicalParentUuid: "gone",
      },
      line("s", "b", "user", "Summary", { isCompactSummary: true }),
      line("u9", "lost", "user", "Go on"),
      null,
    ),
  );
  expect(Object.keys(all)).toEqual([SESSION]);
  expect(outline(all[SESSION]!).slice(-3)).toEqual(["system: Compacted", "system: Summary", "user: Go on"]);
  expect(target.last.leftOut).toBeGreaterThan(0);
});

it("a transcript that goes on with another session's has the id of its file", async () => {
  const other = "2d1f8f2e-0000-4000-8000-000000000002";
  const going = [...TURN, line("u9", "a4", "user", "Go on", { sessionId: other })];
  const all = await newTarget().import(`${other}.jsonl`, lines(...going));
  expect(Object.keys(all)).toEqual([other]);
  expect(all[other]!.messages).toHaveLength(8);
});

it("a transcript that grew adds what is new, and a branch that it gained becomes a fork", async () => {
  const target = newTarget();
  const more = [...TURN, line("u2", "a4", "user", "Fix it")];
  await target.import("grown.jsonl", lines(...TURN));
  const grown = await target.import("grown.jsonl", lines(...more));
  expect(outline(grown[SESSION]!).slice(-2)).toEqual(["assistant: Because of a", "user: Fix it"]);
  const other = lines(...more, line("u2b", "a4", "user", "Explain instead"));
  for (let i = 0; i < 2; i++) {
    const all = Object.values(await target.import("grown.jsonl", other));
    expect(all.map((one) => outline(one).slice(6)).sort()).toEqual([
      ["assistant: Because of a", "user: Explain instead"],
      ["assistant: Because of a", "user: Fix it"],
    ]);
  }
});

it("a file whose lines name no parents is one branch, and lines that are there twice are one message", async () => {
  const bare = TURN.map((one) => ({ ...one, parentUuid: null }));
  const next = line("u2", null, "user", "And then?");
  const all = await newTarget().import(
    "bare.jsonl",
    lines(...bare, next, next, { ...next, message: { content: "Now?" } }),
  );
  expect(Object.keys(all)).toEqual([SESSION]);
  expect(outline(all[SESSION]!).slice(6)).toEqual(["assistant: Because of a", "user: And then?", "user: Now?"]);
});

it("a subagent whose first line names a line of its session is a child, and lines without ids are messages", async () => {
  const agent = { isSidechain: true, agentId: "a18" };
  const bare = { type: "user", message: { role: "user", content: "No uuid" }, timestamp: "2025-11-03T11:00:00Z" };
  const all = await newTarget().import(
    "loose.jsonl",
    lines(...TURN, line("s1", "a4", "user", "Search", agent), { ...bare, sessionId: SESSION }),
  );
  expect(Object.keys(all).sort()).toEqual([SESSION, `${SESSION}~agent-a18`]);
  expect(outline(all[SESSION]!).slice(6)).toEqual(["assistant: Because of a", "user: No uuid"]);
  const nameless = await newTarget().import("my-chat.jsonl", lines({ ...bare, uuid: "u1" }));
  expect(outline(nameless["my-chat"]!)).toEqual(["user: No uuid"]);
});
