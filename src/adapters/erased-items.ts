import type { AgentInputItem } from "@openai/agents-core";

/** Stands for the content of an erased message. */
const ERASED = "[erased]";
const BLANK_PNG =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg==";

/** A call or its result, of which this adapter needs only a few fields. */
interface CallItem {
  readonly type?: unknown;
  readonly callId?: unknown;
  readonly name?: unknown;
  readonly caller?: unknown;
}

/** How to fill the place of one half of a pair, of which the other half is there. */
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
 * Fills the places of erased messages, which are undefined. Models refuse a result without its call, and a call without
 * its result, so a place becomes the missing half of a pair that is there in part: the call of a later result, or the
 * result of an earlier call. Every other one is a message of its role that says so.
 */
export function erasedItems(
  items: readonly (AgentInputItem | undefined)[],
  roles: readonly string[],
): AgentInputItem[] {
  const calls = new Map<unknown, { readonly at: number; readonly item: CallItem }>();
  const results = new Map<unknown, { readonly at: number; readonly item: CallItem }>();
  items.forEach((item, at) => {
    const { type, callId } = (item ?? {}) as CallItem;
    if (PAIRS.has(`${type}`)) calls.set(callId, { at, item: item as CallItem });
    if (CALL_OF_RESULT.has(`${type}`)) results.set(callId, { at, item: item as CallItem });
  });
  const missingCalls = [...results].filter(([callId]) => !calls.has(callId)).map(([, result]) => result);
  const missingResults = [...calls].filter(([callId]) => !results.has(callId)).map(([, call]) => call);
  return items.map((item, at) => {
    if (item !== undefined) return item;
    const role = roles[at] ?? "";
    if (role === "user" || role === "system") return { type: "message", role, content: ERASED };
    const result = role === "tool" ? undefined : take(missingCalls, (one) => one.at > at);
    if (result !== undefined) return callFor(result.item);
    const call = take(missingResults, (one) => one.at < at);
    if (call !== undefined) return resultFor(call.item);
    return {
      type: "message",
      role: "assistant",
      ...STATUS,
      content: [{ type: "output_text", text: ERASED }],
    } as AgentInputItem;
  });
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

/** Removes and returns the first one that fits. */
function take<T>(list: T[], fits: (one: T) => boolean): T | undefined {
  const at = list.findIndex(fits);
  return at === -1 ? undefined : list.splice(at, 1)[0];
}
