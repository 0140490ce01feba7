import type { Recognise } from "./common.js";
import { imageOf, isObject, objectAt, outputOf, textAt, valueAt } from "./fields.js";
import type { Json, JsonObject } from "./part.js";
import type { CallStatus } from "./part-view.js";

const STATUS: ReadonlyMap<string, CallStatus> = new Map(
  Object.entries<CallStatus>({
    pending: "pending",
    running: "running",
    completed: "done",
    error: "failed",
  }),
);

/** Parts of OpenCode's messages. */
export const OPENCODE: Readonly<Record<string, Recognise>> = {
  tool: ({ data }) => {
    const state = objectAt(data, "state");
    const status = STATUS.get(textAt(state, "status"));
    const durationMs = durationOf(objectAt(state, "time"));
    const answer = outputOf(valueAt(state, "output", "error"));
    const attachments = Array.isArray(state.attachments) ? state.attachments.filter(isObject) : [];
    const images = attachments.map((file) =>
      imageOf(textAt(file, "url"), textAt(file, "mime"), textAt(file, "filename")),
    );
    return {
      kind: "call",
      callId: textAt(data, "callID"),
      name: textAt(data, "tool") || "tool",
      args: valueAt(state, "input"),
      ...(status && { status }),
      output: { ...answer, images: [...answer.images, ...images] },
      ...(durationMs !== undefined && { durationMs }),
    };
  },
  "step-start": () => [],
  "step-finish": ({ data }) => ({ kind: "note", label: "Step", text: costOf(data) }),
  snapshot: ({ data }) => ({ kind: "note", label: "Snapshot", text: textAt(data, "snapshot") }),
  patch: ({ data }) => ({ kind: "note", label: "Changed files", text: listOf(data.files) }),
  agent: ({ data }) => ({ kind: "note", label: "Agent", text: textAt(data, "name") }),
  subtask: ({ data }) => ({
    kind: "note",
    label: `Subtask of ${textAt(data, "agent") || "an agent"}`,
    text: textAt(data, "description", "prompt"),
  }),
  retry: ({ data }) => ({
    kind: "error",
    text: `Attempt ${valueAt(data, "attempt") ?? "?"}: ${messageOf(valueAt(data, "error"))}`,
  }),
  compaction: () => ({ kind: "note", label: "Compaction", text: "What came before was summarised" }),
};

function durationOf(time: JsonObject): number | undefined {
  const { start, end } = time;
  return typeof start === "number" && typeof end === "number" ? end - start : undefined;
}

function costOf(data: JsonObject): string {
  const { input, output } = objectAt(data, "tokens");
  const tokens = typeof input === "number" && typeof output === "number" ? `${input} tokens in, ${output} out` : "";
  const cost = typeof data.cost === "number" && data.cost > 0 ? `$${data.cost.toFixed(4)}` : "";
  return [tokens, cost, textAt(data, "reason")].filter(Boolean).join(" · ");
}

function listOf(value: Json | undefined): string {
  return Array.isArray(value) ? value.map(String).join(", ") : "";
}

function messageOf(error: Json | undefined): string {
  if (!isObject(error)) return String(error ?? "unknown error");
  return textAt(error, "message") || textAt(objectAt(error, "data"), "message") || JSON.stringify(error);
}
