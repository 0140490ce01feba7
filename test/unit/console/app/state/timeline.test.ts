import { describe, expect, it } from "vitest";
import type { Message, Usage } from "../../../../../src/console/app/api/types.js";
import { CallIndex } from "../../../../../src/console/app/parts/call-index.js";
import { turnOf } from "../../../../../src/console/app/state/timeline.js";

const START = Date.parse("2026-01-01T00:00:00Z");
const messages: Message[] = [];

function add(second: number, role: string, parts: readonly object[], usage?: Usage): void {
  const timestamp = new Date(START + second * 1000).toISOString();
  const info = { id: `m${messages.length}`, role, timestamp, ...(usage && { usage }) };
  messages.push({ info, parts: parts.map((part) => ({ id: "", type: "text", text: "", ...part })) });
}

const tool = (id: string) => ({ type: "tool_use", data: { id, name: `tool ${id}`, input: {} } });
const result = (id: string, isError = false) => ({
  type: "tool_result",
  text: "out",
  data: { tool_use_id: id, is_error: isError },
});

add(0, "user", [{ text: "go" }]);
add(10, "assistant", [{ text: "I look" }, tool("a"), tool("b")], {
  model: "small",
  startTime: new Date(START + 2000).toISOString(),
  firstTokenTime: new Date(START + 3500).toISOString(),
  duration: "8s",
});
add(12, "tool", [result("a")]);
add(17, "tool", [result("b", true)]);
add(20, "assistant", [{ text: "done" }], { model: "large", duration: "2.5s" });
add(60, "assistant", [tool("c")]);

describe("the timeline of a turn", () => {
  const calls = new CallIndex();
  calls.add(messages, 0);
  const turn = turnOf({ get: (position) => messages[position], calls }, 0, messages.length - 1);
  const seconds = (ms: number | undefined) => ms && (ms - START) / 1000;

  it("has what ran, in order, with reported times or those of the messages around it", () => {
    const rows = turn.bars.map(({ name, startMs, endMs, isEstimate }) => [
      name,
      seconds(startMs),
      seconds(endMs),
      isEstimate,
    ]);
    expect(rows).toEqual([
      ["small", 2, 10, false],
      ["tool a", 10, 12, true],
      ["tool b", 10, 17, true],
      ["large", 17.5, 20, false],
      // Without a report, the call of the model began with the message before it.
      ["model", 20, 60, true],
      ["tool c", 60, 60, true],
    ]);
    expect([seconds(turn.bars[0]?.firstTokenMs), seconds(turn.startMs) ?? 0, seconds(turn.endMs)]).toEqual([
      3.5, 0, 60,
    ]);
  });

  it("says which calls have failed, and which never ended", () => {
    const tools = turn.bars.filter(({ kind }) => kind === "tool").map(({ name, status }) => [name, status]);
    expect(tools).toEqual([
      ["tool a", "done"],
      ["tool b", "failed"],
      ["tool c", undefined],
    ]);
  });
});
