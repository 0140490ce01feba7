import { expect, it } from "vitest";
import { viewsOfParts } from "../../../../../src/parts/recognise.js";
import { lines, newTarget, outline } from "./imported.js";

const ID = "0199aaaa-bbbb-7ccc-8ddd-000000000001";
let clock = 0;

const at = (type: string, payload: object) => {
  clock += 1;
  return { timestamp: `2025-11-03T10:00:${String(clock % 60).padStart(2, "0")}.250Z`, type, payload };
};
const item = (payload: object) => at("response_item", payload);
const event = (payload: object) => at("event_msg", payload);
const said = (role: string, text: string) =>
  item({ type: "message", role, content: [{ type: role === "assistant" ? "output_text" : "input_text", text }] });
const typed = (text: string) => [said("user", text), event({ type: "user_message", message: text, images: [] })];
const meta = (more: object = {}) =>
  at("session_meta", { id: ID, timestamp: "2025-11-03T09:59:59.000Z", cwd: "/work", cli_version: "0.65.0", ...more });

const START = [
  meta(),
  said("developer", "<permissions instructions>ask</permissions instructions>"),
  said("user", "# AGENTS.md instructions for /work\n\nBe brief"),
  said("user", "<environment_context>\n<cwd>/work</cwd>\n</environment_context>"),
  at("turn_context", { cwd: "/work", model: "gpt-5", effort: "high" }),
  ...typed("List the files"),
  item({
    type: "reasoning",
    summary: [{ type: "summary_text", text: "Use ls" }],
    content: null,
    encrypted_content: "x",
  }),
  item({ type: "function_call", name: "shell", arguments: '{"command":["ls"]}', call_id: "c1" }),
  item({
    type: "function_call_output",
    call_id: "c1",
    output: JSON.stringify({ output: "no such folder", metadata: { exit_code: 2, duration_seconds: 0.1 } }),
  }),
  event({ type: "token_count", info: null }),
  said("assistant", "There is none"),
  event({ type: "agent_message", message: "There is none" }),
];

it("a rollout is one session, whose hidden context is not the user's words", async () => {
  const target = newTarget();
  for (let i = 0; i < 2; i++) {
    const all = await target.import(`rollout-2025-11-03T10-00-00-${ID}.jsonl`, lines(...START));
    expect(Object.keys(all)).toEqual([ID]);
    const { session, messages } = all[ID]!;
    expect(session).toMatchObject({
      title: "List the files",
      createTimeMicros: Date.parse("2025-11-03T09:59:59Z") * 1000,
      metadata: { codex: { cwd: "/work", cli_version: "0.65.0", model: "gpt-5" } },
    });
    expect(messages.map(({ role }) => role)).toEqual([
      ...["system", "system", "system", "user", "assistant", "assistant", "tool", "assistant"],
    ]);
    expect(messages[3]?.timestampMicros).toBe(Date.parse(START[5]!.timestamp) * 1000);
    const views = messages.slice(3).flatMap(({ parts }) => viewsOfParts(parts));
    expect(views).toMatchObject([
      { kind: "text", text: "List the files" },
      { kind: "reasoning", text: "Use ls" },
      { kind: "call", callId: "c1", name: "shell", args: { command: ["ls"] } },
      { kind: "result", callId: "c1", isError: true, output: { text: "no such folder" } },
      { kind: "text", text: "There is none" },
    ]);
  }
});

it("turns that were taken back become forks, in whatever order", async () => {
  const all = await newTarget().import(
    "rollout.jsonl",
    lines(
      ...START,
      ...typed("second"),
      said("assistant", "answer 2"),
      ...typed("third"),
      event({ type: "thread_rolled_back", num_turns: 1 }),
      ...typed("third again"),
      event({ type: "thread_rolled_back", num_turns: 2 }),
      ...typed("other second"),
    ),
  );
  const last = (id: string) => outline(all[id]!).at(-1);
  expect(Object.keys(all)).toHaveLength(3);
  expect(last(ID)).toBe("user: other second");
  const forks = Object.values(all).filter(({ session }) => session.parentId !== "");
  expect(forks.map((fork) => outline(fork).slice(8)).sort()).toEqual([
    ["user: second", "assistant: answer 2", "user: third"],
    ["user: second", "assistant: answer 2", "user: third again"],
  ]);
});

it("a fork's rollout keeps its own id though it repeats its source's head, and subagents have their parent", async () => {
  const other = "0199aaaa-bbbb-7ccc-8ddd-000000000002";
  const forked = await newTarget().import(
    "fork.jsonl",
    lines(
      meta({ id: other, forked_from_id: ID }),
      ...START,
      event({ type: "thread_name_updated", thread_name: "Mine" }),
    ),
  );
  expect(forked[other]?.session.title).toBe("Mine");
  expect(Object.keys(forked)).toEqual([other]);
  const source = { subagent: { thread_spawn: { parent_thread_id: ID, depth: 1 } } };
  const sub = await newTarget().import("sub.jsonl", lines(meta({ id: other, source }), ...START.slice(1)));
  expect(sub[other]?.session.parentId).toBe(ID);
});

it("rollouts of the first versions, and those that hold only events, are read, too", async () => {
  const old = [
    { id: ID, timestamp: "2025-06-01T08:00:00.000Z", instructions: null, git: {} },
    { record_type: "state" },
    {
      type: "message",
      role: "user",
      content: [{ type: "input_text", text: "<user_instructions>x</user_instructions>" }],
    },
    { type: "message", role: "user", content: [{ type: "input_text", text: "Hello" }] },
    { type: "local_shell_call", call_id: "c", status: "completed", action: { type: "exec", command: ["ls"] } },
    { type: "function_call_output", call_id: "c", output: { content: "a.txt", success: true } },
  ];
  const all = await newTarget().import("old.jsonl", lines(...old));
  expect(outline(all[ID]!)).toEqual([
    "system: <user_instructions>x</user_instructions>",
    "user: Hello",
    "assistant: local_shell_call",
    "tool: a.txt",
  ]);
  const bare = await newTarget().import(`rollout-${ID}.jsonl`, lines(...old.slice(2)));
  expect(bare[ID]!.messages).toHaveLength(4);
  const target = newTarget();
  const told = await target.import(
    "events.jsonl",
    lines(
      meta(),
      event({ type: "user_message", message: "Hi" }),
      17,
      event({ type: "agent_message", message: "Yes?" }),
    ),
  );
  expect(outline(told[ID]!)).toEqual(["user: Hi", "assistant: Yes?"]);
  const said = (message: string) => event({ type: "user_message", message });
  const back = [meta(), said("one"), said("two"), event({ type: "thread_rolled_back", num_turns: 1 }), said("three")];
  const rolled = await newTarget().import("rolled.jsonl", lines(...back));
  expect(outline(rolled[ID]!)).toEqual(["user: one", "user: three"]);
  expect(target.last.leftOut).toBeGreaterThan(0);
});

it("a rollout that grew adds what is new, also after turns were taken back", async () => {
  const target = newTarget();
  await target.import("grown.jsonl", lines(...START));
  const more = [...START, ...typed("And now?"), at("compacted", { message: "" })];
  const all = await target.import("grown.jsonl", lines(...more));
  expect(outline(all[ID]!).slice(-2)).toEqual(["user: And now?", "system: (compacted to 0 items)"]);
  const other = lines(...more, event({ type: "thread_rolled_back", num_turns: 1 }), ...typed("Or rather"));
  for (let i = 0; i < 2; i++) {
    const rolled = await target.import("grown.jsonl", other);
    expect(
      Object.values(rolled)
        .map((one) => outline(one).at(-1))
        .sort(),
    ).toEqual(["system: (compacted to 0 items)", "user: Or rather"]);
  }
});
