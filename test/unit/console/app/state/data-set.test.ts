import { describe, expect, it } from "vitest";
import type { Annotation, Message } from "../../../../../src/console/app/api/types.js";
import {
  type Context,
  chosen,
  countsOf,
  dataSetLines,
  usualChoice,
} from "../../../../../src/console/app/state/data-set.js";
import { documentedProgram } from "../../../../clients/documented.js";

const messages: Message[] = [];

function add(role: string, ...parts: readonly object[]): void {
  const info = { id: `m${messages.length}`, role, timestamp: "2026-01-01T00:00:00Z" };
  messages.push({ info, parts: parts.map((part) => ({ id: "", type: "text", text: "", ...part })) });
}

const note = (messageId: string, thumb: Annotation["thumb"], text = ""): Annotation => ({
  ...{ annotationId: `${messageId}${thumb}`, messageId, thumb, text, author: "ada" },
  createTime: "2026-01-02T00:00:00Z",
  updateTime: "2026-01-02T00:00:00Z",
});

add("system", { text: "Be brief" });
add("user", { text: "What is wrong?" });
add("assistant", { text: "I look." }, { type: "tool_use", data: { id: "a", name: "read", input: { path: "x" } } });
add("tool", { type: "tool_result", text: "line 1", data: { tool_use_id: "a" } });
add("assistant", { type: "reasoning", text: "hm" }, { text: "A column." });
add("user", { text: "And now?" });
add("assistant", {
  type: "tool",
  data: { tool: "bash", callID: "b", state: { status: "completed", input: { command: "ls" }, output: "a b" } },
});
add("assistant", { type: "tool_use", data: { id: "c", name: "never", input: {} } });
add("assistant", { text: "Done." });

const notes = [note("m4", "up", "Right"), note("m4", "down"), note("m8", "down")];

describe("a data set", () => {
  const lines = (positions: readonly number[], context: Context = "all") =>
    [...dataSetLines("s", messages, notes, positions, context)].map((line) => JSON.parse(line));

  it("has the messages that are chosen by a thumb, a note, or as answers", () => {
    const by = (choice: Parameters<typeof chosen>[2], selected?: number) => chosen(messages, notes, choice, selected);
    expect([by("up"), by("down"), by("noted"), by("answers"), by("selected", 3), by("selected")]).toEqual([
      [4],
      [4, 8],
      [4, 8],
      [2, 4, 6, 7, 8],
      [3],
      [],
    ]);
  });

  it("counts the messages with each kind of feedback, and chooses at first a kind that has some", () => {
    expect(countsOf(notes)).toEqual({ up: 1, down: 2, noted: 2 });
    expect(usualChoice(countsOf(notes))).toBe("up");
    expect(usualChoice(countsOf([note("m4", "down")]))).toBe("noted");
    expect(usualChoice(countsOf([]))).toBe("answers");
  });

  it("writes what came before a message, the message, and the feedback", () => {
    expect(lines([4])).toEqual([
      {
        messages: [
          { role: "system", content: "Be brief" },
          { role: "user", content: "What is wrong?" },
          {
            role: "assistant",
            content: "I look.",
            tool_calls: [{ id: "a", type: "function", function: { name: "read", arguments: '{"path":"x"}' } }],
          },
          { role: "tool", tool_call_id: "a", content: "line 1" },
          { role: "assistant", content: "A column." },
        ],
        metadata: {
          session_id: "s",
          message_id: "m4",
          feedback: [
            { thumb: "up", text: "Right", author: "ada", time: "2026-01-02T00:00:00Z" },
            { thumb: "down", text: "", author: "ada", time: "2026-01-02T00:00:00Z" },
          ],
        },
      },
    ]);
  });

  it("begins with the request, on demand, and gives each call a result", () => {
    const [line] = lines([8], "turn");
    expect(line.messages).toEqual([
      { role: "user", content: "And now?" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "b", type: "function", function: { name: "bash", arguments: '{"command":"ls"}' } }],
      },
      { role: "tool", tool_call_id: "b", content: "a b" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c", type: "function", function: { name: "never", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "c", content: "(no result)" },
      { role: "assistant", content: "Done." },
    ]);
    // What the chosen message itself calls has no result yet.
    expect(lines([7], "turn")[0].messages.at(-1).role).toBe("assistant");
  });

  it("puts results between their calls and what was said after them, where one message holds all of that", () => {
    const call = (id: string, output: string) => ({
      type: "tool-read",
      data: { type: "tool-read", toolCallId: id, state: "output-available", input: {}, output },
    });
    const written = (...parts: readonly object[]) => {
      const info = { id: "m", role: "assistant", timestamp: "2026-01-01T00:00:00Z" };
      const whole = { info, parts: parts.map((part) => ({ id: "", type: "text", text: "", ...part })) };
      const [line] = [...dataSetLines("s", [whole], [], [0], "all")].map((one) => JSON.parse(one));
      return line.messages.map(({ role, content, tool_calls, tool_call_id }: Record<string, string | object[]>) =>
        [role, content, tool_call_id, (tool_calls as { id: string }[] | undefined)?.map(({ id }) => id)].filter(
          Boolean,
        ),
      );
    };
    const steps = [{ type: "step-start" }, { text: "I look." }, call("a", "1"), call("b", "2"), { type: "step-start" }];
    expect(written(...steps, { text: "Again." }, call("c", "3"), { text: "A column." })).toEqual([
      ["assistant", "I look.", ["a", "b"]],
      ["tool", "1", "a"],
      ["tool", "2", "b"],
      ["assistant", "Again.", ["c"]],
      ["tool", "3", "c"],
      ["assistant", "A column."],
    ]);
    const apart = { type: "tool_use", data: { id: "d", name: "read", input: {} } };
    const result = { type: "tool_result", text: "4", data: { tool_use_id: "d" } };
    expect(written({ text: "I look." }, apart, result, { text: "A column." })).toEqual([
      ["assistant", "I look.", ["d"]],
      ["tool", "4", "d"],
      ["assistant", "A column."],
    ]);
  });

  it("has one line for each message, for readers too that know other ends of lines", () => {
    const info = { id: "m", role: "user", timestamp: "2026-01-01T00:00:00Z" };
    const message: Message = { info, parts: [{ id: "", type: "text", text: "a\u2028b\u2029c\u0085d\ne" }] };
    const [line = ""] = [...dataSetLines("s", [message], [], [0], "all")];
    expect(line).toMatch(/^[^\u0085\u2028\u2029\n]*\n$/);
    expect(JSON.parse(line).messages[0].content).toBe(message.parts[0]?.text);
  });

  it("is as the page of the console shows it", () => {
    const said = (id: string, role: string, text: string): Message => ({
      info: { id, role, timestamp: "2026-11-28T12:00:00Z" },
      parts: [{ id: "", type: "text", text }],
    });
    const trip = [said("m1", "user", "Where to?"), said("m2", "assistant", "Lisbon")];
    const right = { ...note("m2", "up", "Right."), updateTime: "2026-11-28T12:00:00Z" };
    const shown = documentedProgram("json", '"feedback":');
    expect([...dataSetLines("trip", trip, [right], [1], "all")].join("")).toBe(shown);
  });
});
