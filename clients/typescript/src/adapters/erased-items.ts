import type { AgentInputItem } from "@openai/agents-core";
import { ERASED, type PairedMessage, pairErased } from "./erased.js";

const BLANK_PNG =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg==";

/** A call or its result, of which this adapter needs only a few fields. */
interface CallItem {
  readonly type?: unknown;
  readonly callId?: unknown;
  readonly name?: unknown;
  readonly caller?: unknown;
}

/** How a call and its result are made up when only the other of the two is left. */
interface Pair {
  readonly result: string;
  readonly callFields: object;
  readonly resultFields: object;
}

const STATUS = { status: "completed" };
/** By the type of the call. */
const PAIRS: ReadonlyMap<string, Pair> = new Map([
  [
    "function_call",
    {
      result: "function_call_result",
      callFields: { ...STATUS, arguments: "{}" },
      resultFields: { ...STATUS, output: { type: "text", text: ERASED } },
    },
  ],
  [
    "computer_call",
    {
      result: "computer_call_result",
      callFields: { ...STATUS, action: { type: "screenshot" } },
      resultFields: { output: { type: "computer_screenshot", data: BLANK_PNG } },
    },
  ],
  [
    "shell_call",
    {
      result: "shell_call_output",
      callFields: { ...STATUS, action: { commands: [ERASED] } },
      resultFields: {
        ...STATUS,
        output: [{ stdout: ERASED, stderr: "", outcome: { type: "exit", exitCode: 0 } }],
      },
    },
  ],
  [
    "apply_patch_call",
    {
      result: "apply_patch_call_output",
      callFields: { ...STATUS, operation: { type: "delete_file", path: ERASED } },
      resultFields: { ...STATUS, output: ERASED },
    },
  ],
]);
const CALL_OF_RESULT = new Map([...PAIRS].map(([call, { result }]) => [result, call]));

/**
 * Puts items in the place of erased messages, which are undefined: the call of a later result, or the result of an
 * earlier call, where that is missing; otherwise a message of the role that says so.
 */
export function erasedItems(
  items: readonly (AgentInputItem | undefined)[],
  roles: readonly string[],
): AgentInputItem[] {
  const halves = pairErased(
    items.map((item, at) => pairedOf(item, roles[at] ?? "")),
    1,
  );
  const known = new Map(items.map((item) => [(item as CallItem | undefined)?.callId, item as CallItem]));
  return items.map((item, at) => {
    if (item !== undefined) return item;
    const { calls, results } = halves[at] ?? { calls: [], results: [] };
    if (calls[0] !== undefined) return callFor(known.get(calls[0]) ?? {});
    if (results[0] !== undefined) return resultFor(known.get(results[0]) ?? {});
    const role = roles[at];
    if (role === "user" || role === "system") return { type: "message", role, content: ERASED };
    return {
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: ERASED }],
    };
  });
}

function pairedOf(item: AgentInputItem | undefined, role: string): PairedMessage {
  const { type, callId } = (item ?? {}) as CallItem;
  const ids = typeof callId === "string" ? [callId] : [];
  return {
    calls: PAIRS.has(`${type}`) ? ids : [],
    results: CALL_OF_RESULT.has(`${type}`) ? ids : [],
    // Earlier versions stored results with the role of an assistant.
    ...(item === undefined &&
      role !== "user" &&
      role !== "system" && { erased: role === "tool" ? "result" : "either" }),
    isQuestion: role === "user",
  };
}

function callFor(result: CallItem): AgentInputItem {
  const type = CALL_OF_RESULT.get(`${result.type}`) as string;
  return { type, ...namesOf(result), ...PAIRS.get(type)?.callFields } as unknown as AgentInputItem;
}

function resultFor(call: CallItem): AgentInputItem {
  const { result, resultFields } = PAIRS.get(`${call.type}`) as Pair;
  return { type: result, ...namesOf(call), ...resultFields } as unknown as AgentInputItem;
}

function namesOf({ callId, name, caller }: CallItem): object {
  return { callId, ...(name !== undefined && { name }), ...(caller !== undefined && { caller }) };
}
