import type { Recognise } from "./common.js";
import { type Fields, isObject, objectAt, outputOf, textAt, valueAt } from "./fields.js";
import type { Json, JsonObject } from "./part.js";
import type { CallStatus, PartView } from "./part-view.js";

/** States of a tool part: of version 5 and 6, then of version 4. */
const STATUS: ReadonlyMap<string, CallStatus> = new Map(
  Object.entries<CallStatus>({
    "input-streaming": "pending",
    "input-available": "running",
    "approval-requested": "asking",
    "approval-responded": "running",
    "output-available": "done",
    "output-error": "failed",
    "output-denied": "denied",
    "partial-call": "pending",
    call: "running",
    result: "done",
  }),
);

/** Parts of the AI SDK's UIMessage and ModelMessage. */
export const AI_SDK: Readonly<Record<string, Recognise>> = {
  "dynamic-tool": ({ data }) => toolOf(textAt(data, "toolName"), data),
  "tool-invocation": ({ data }) => {
    const invocation = objectAt(data, "toolInvocation");
    return toolOf(textAt(invocation, "toolName"), invocation);
  },
  "tool-call": ({ data }) => ({
    kind: "call",
    callId: textAt(data, "toolCallId"),
    name: textAt(data, "toolName") || "tool",
    args: valueAt(data, "input", "args"),
  }),
  "tool-result": ({ text, data }) => {
    const output = valueAt(data, "output", "result");
    const typed = isObject(output) && typeof output.type === "string" ? output.type : "";
    return {
      kind: "result",
      callId: textAt(data, "toolCallId"),
      name: textAt(data, "toolName"),
      isError: data.isError === true || typed.startsWith("error") || typed === "execution-denied",
      output: outputOf(typed && isObject(output) ? (valueAt(output, "value", "reason") ?? output) : (output ?? text)),
    };
  },
  "source-url": ({ data }) => ({
    kind: "note",
    label: "Source",
    text: `${textAt(data, "title")} ${textAt(data, "url")}`.trim(),
  }),
  "source-document": ({ data }) => ({ kind: "note", label: "Source", text: textAt(data, "title", "filename") }),
};

/** `tool-weather` and `data-progress` carry a name in their type. */
export function recogniseNamed({ type, data }: Fields): PartView | undefined {
  if (type.startsWith("tool-") && ("toolCallId" in data || "state" in data)) return toolOf(type.slice(5), data);
  if (type.startsWith("data-"))
    return { kind: "note", label: type.slice(5), text: "", data: valueAt(data, "data") ?? data };
  return undefined;
}

function toolOf(name: string, data: JsonObject): PartView {
  const status = STATUS.get(textAt(data, "state"));
  const error = textAt(data, "errorText");
  const answer: Json | undefined = error || valueAt(data, "output", "result");
  return {
    kind: "call",
    callId: textAt(data, "toolCallId"),
    name: name || "tool",
    args: valueAt(data, "input", "rawInput", "args"),
    ...(status && { status }),
    ...(answer !== undefined && { output: outputOf(answer) }),
  };
}
