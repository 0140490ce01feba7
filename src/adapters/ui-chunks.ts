import type { UIMessageChunk } from "ai";
import type { StoredPart } from "./ui-message.js";

type Fields = Readonly<Record<string, unknown>>;

/** States of a tool call whose complete input is known. */
const HAS_INPUT: ReadonlySet<unknown> = new Set([
  ...[
    "input-available",
    "approval-requested",
    "approval-responded",
    "output-available",
    "output-error",
    "output-denied",
  ],
]);

/** The chunks that turn the parts `before` of a message into the parts `after` for a reader. */
export function chunksBetween(before: readonly StoredPart[], after: readonly StoredPart[]): UIMessageChunk[] {
  return after.flatMap((part, i) => chunksOfPart(before[i], part) as UIMessageChunk[]);
}

/** The chunks that end the texts of a message, with the provider's metadata that came after their beginning. */
export function endsOf(parts: readonly StoredPart[]): UIMessageChunk[] {
  return parts.flatMap(({ id, type, data }) =>
    type === "text" || type === "reasoning" ? [{ ...data, type: `${type}-end` as const, id }] : [],
  );
}

function chunksOfPart(before: StoredPart | undefined, part: StoredPart): Fields[] {
  const { type } = part;
  if (type === "text" || type === "reasoning") return chunksOfText(before, part);
  if (before !== undefined && JSON.stringify(before.data) === JSON.stringify(part.data)) return [];
  if (type === "step-start") return [{ type: "start-step" }];
  if (type === "dynamic-tool" || type.startsWith("tool-")) return chunksOfTool(before?.data, part);
  // For files, sources and data, the chunk is the part itself.
  return [{ type, ...part.data }];
}

function chunksOfText(before: StoredPart | undefined, { id, type, text, data }: StoredPart): Fields[] {
  const chunks: Fields[] = before === undefined ? [{ ...data, type: `${type}-start`, id }] : [];
  const delta = text.slice(before?.text.length ?? 0);
  if (delta !== "") chunks.push({ type: `${type}-delta`, id, delta });
  return chunks;
}

function chunksOfTool(before: Fields | undefined, { type, data = {} }: StoredPart): Fields[] {
  const { toolCallId, state, input, output, errorText, approval, preliminary } = data as Fields;
  const isDynamic = type === "dynamic-tool";
  const toolName = isDynamic ? data.toolName : type.slice("tool-".length);
  const { providerExecuted, title, toolMetadata, callProviderMetadata, resultProviderMetadata } = data as Fields;
  const call = withoutAbsent({
    ...{ toolCallId, toolName, providerExecuted, title, toolMetadata, dynamic: isDynamic || undefined },
    providerMetadata: callProviderMetadata,
  });
  const result = withoutAbsent({ toolCallId, providerMetadata: resultProviderMetadata });
  const chunks: Fields[] = [];
  if (before === undefined && state === "input-streaming") chunks.push({ type: "tool-input-start", ...call });
  if (HAS_INPUT.has(state) && !HAS_INPUT.has(before?.state))
    chunks.push({ type: "tool-input-available", ...call, input });
  if (state === "approval-requested")
    chunks.push({ type: "tool-approval-request", toolCallId, approvalId: (approval as Fields | undefined)?.id });
  if (state === "output-available")
    chunks.push(withoutAbsent({ type: "tool-output-available", ...result, output, preliminary }));
  if (state === "output-error") chunks.push({ type: "tool-output-error", ...result, errorText });
  if (state === "output-denied") chunks.push({ type: "tool-output-denied", toolCallId });
  return chunks;
}

function withoutAbsent(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
