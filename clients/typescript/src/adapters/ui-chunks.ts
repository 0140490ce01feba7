import type { UIMessageChunk } from "ai";
import { fromStorable } from "./storable.js";
import { DROPPED, type StoredPart } from "./ui-message.js";

type Fields = Readonly<Record<string, unknown>>;

/** A part with the fields that the AI SDK gave it. */
interface Part {
  readonly place: string;
  readonly type: string;
  readonly text: string;
  readonly fields: Fields;
}

/** States of a tool call whose complete input is not known. */
const INPUT_STREAMING = "input-streaming";
const AS_PART: ReadonlySet<string> = new Set([
  ...["file", "reasoning-file", "source-url", "source-document", "custom", "steering-message"],
]);

/** Makes the chunks from which the AI SDK's reader makes the parts of a message that grows. */
export class ChunkMaker {
  #parts: readonly Part[] = [];
  /** The texts that the reader expects more of: their ids in chunks, and their places in the message. */
  readonly #open = new Map<string, number>();

  /** The chunks that turn what the reader has into these parts. */
  become(parts: readonly StoredPart[]): UIMessageChunk[] {
    const before = this.#parts;
    const after = parts.filter(({ type }) => type !== DROPPED).map(toPart);
    this.#parts = after;
    const isGrown = before.every((part, i) => isLater(part, after[i]));
    const chunks: Fields[] = [];
    let kept: readonly Part[] = before;
    if (!isGrown) {
      // Only ai 7 drops parts, those after the beginning of the step.
      kept = before.slice(0, before.findLastIndex(({ type }) => type === "step-start") + 1);
      // The reader forgets with the step which texts are open, those of earlier steps included.
      for (const place of [...this.#open.values()]) if (place < kept.length) chunks.push(...this.#endOf(place));
      this.#open.clear();
      chunks.push({ type: "reset-step" });
    }
    for (const [i, part] of after.entries()) chunks.push(...this.#chunksOf(kept[i], part, i));
    return chunks as UIMessageChunk[];
  }

  /** The chunks that end the texts of the message, with the provider's metadata that came after their beginning. */
  end(): UIMessageChunk[] {
    const chunks = [...this.#open.values()].flatMap((place) => this.#endOf(place));
    const partial = this.#parts.flatMap(({ fields, type }) => (isTool(type) ? inputSoFar(fields) : []));
    return [...partial, ...chunks] as UIMessageChunk[];
  }

  #chunksOf(before: Part | undefined, part: Part, place: number): Fields[] {
    const { type, fields } = part;
    if (type === "text" || type === "reasoning") return this.#chunksOfText(before, part, place);
    if (before !== undefined && JSON.stringify(before.fields) === JSON.stringify(fields)) return [];
    if (type === "step-start") return [{ type: "start-step" }];
    if (isTool(type)) return chunksOfTool(before?.fields, part);
    return AS_PART.has(type) || type.startsWith("data-") ? [{ ...fields, type }] : [];
  }

  #chunksOfText(before: Part | undefined, part: Part, place: number): Fields[] {
    const { type, text, fields } = part;
    const id = idOf(part);
    const chunks: Fields[] = [];
    const { providerMetadata } = fields;
    if (before === undefined) {
      // The reader knows texts by their ids, which a model may use again for the next one.
      const other = this.#open.get(id);
      if (other !== undefined) chunks.push(...this.#endOf(other));
      chunks.push(withoutAbsent({ type: `${type}-start`, id, providerMetadata }));
      this.#open.set(id, place);
    }
    const delta = text.startsWith(before?.text ?? "") ? text.slice(before?.text.length ?? 0) : "";
    const isNews = before !== undefined && JSON.stringify(before.fields) !== JSON.stringify(fields);
    if (delta !== "" || isNews)
      chunks.push(withoutAbsent({ type: `${type}-delta`, id, delta, ...(isNews && { providerMetadata }) }));
    return chunks;
  }

  #endOf(place: number): Fields[] {
    const part = this.#parts[place];
    if (part === undefined) return [];
    const { providerMetadata, citations } = part.fields;
    this.#open.delete(idOf(part));
    return [withoutAbsent({ type: `${part.type}-end`, id: idOf(part), providerMetadata, citations })];
  }
}

function toPart({ id, type, text, data }: StoredPart): Part {
  return { place: id, type, text, fields: (fromStorable(data) ?? {}) as Fields };
}

/** A reasoning part carries its own id in ai 7. */
function idOf({ place, type, fields }: Part): string {
  return type === "reasoning" && typeof fields.id === "string" ? fields.id : `${type}-${place}`;
}

/** Whether a part may have become the other one without a reset. */
function isLater(before: Part, after: Part | undefined): boolean {
  if (after === undefined || before.type !== after.type) return false;
  const { type } = before;
  if (type === "text" || type === "reasoning")
    return after.text.startsWith(before.text) || after.text.includes("[truncated: ");
  if (isTool(type)) return before.fields.toolCallId === after.fields.toolCallId;
  if (type.startsWith("data-") && before.fields.id !== undefined) return before.fields.id === after.fields.id;
  return JSON.stringify(before.fields) === JSON.stringify(after.fields);
}

function isTool(type: string): boolean {
  return type === "dynamic-tool" || type.startsWith("tool-");
}

function chunksOfTool(before: Fields | undefined, { type, fields }: Part): Fields[] {
  const { toolCallId, state, input, rawInput, output, errorText, preliminary, inputEncoding } = fields;
  const isDynamic = type === "dynamic-tool";
  const toolName = isDynamic ? fields.toolName : type.slice("tool-".length);
  const { providerExecuted, title, toolMetadata, callProviderMetadata, resultProviderMetadata } = fields;
  const call = withoutAbsent({
    ...{ toolCallId, toolName, providerExecuted, title, toolMetadata, dynamic: isDynamic || undefined },
    providerMetadata: callProviderMetadata,
  });
  const result = withoutAbsent({ toolCallId, providerMetadata: resultProviderMetadata });
  if (state === INPUT_STREAMING) {
    const start = before === undefined ? [withoutAbsent({ ...call, type: "tool-input-start", inputEncoding })] : [];
    return [...start, ...inputDelta(before, fields)];
  }
  const hadInput = before !== undefined && before.state !== INPUT_STREAMING;
  // The input could not be parsed. ai 6 keeps its text in `rawInput`.
  if (state === "output-error" && !hadInput && input === undefined)
    return [{ ...call, ...result, type: "tool-input-error", input: rawInput ?? null, errorText }];
  const chunks: Fields[] = hadInput ? [] : [{ ...call, type: "tool-input-available", input: input ?? null }];
  chunks.push(...approvalOf(before, fields));
  if (state === "output-available")
    chunks.push(withoutAbsent({ ...result, type: "tool-output-available", output: output ?? null, preliminary }));
  if (state === "output-error") chunks.push({ ...result, type: "tool-output-error", errorText });
  if (state === "output-denied") chunks.push({ toolCallId, type: "tool-output-denied" });
  return chunks;
}

/** In ai 7, a call carries the text of its input so far. */
function inputDelta(before: Fields | undefined, { toolCallId, rawInput }: Fields): Fields[] {
  const old = typeof before?.rawInput === "string" ? before.rawInput : "";
  if (typeof rawInput !== "string" || rawInput === old || !rawInput.startsWith(old)) return [];
  return [{ type: "tool-input-delta", toolCallId, inputTextDelta: rawInput.slice(old.length) }];
}

/** In ai 6, a call has only the value of its input so far, which is given when nothing follows. */
function inputSoFar({ toolCallId, state, input, rawInput }: Fields): Fields[] {
  if (state !== INPUT_STREAMING || rawInput !== undefined || input === undefined) return [];
  return [{ type: "tool-input-delta", toolCallId, inputTextDelta: JSON.stringify(input) }];
}

function approvalOf(before: Fields | undefined, { toolCallId, approval }: Fields): Fields[] {
  if (typeof approval !== "object" || approval === null) return [];
  if (JSON.stringify(before?.approval) === JSON.stringify(approval)) return [];
  const { id, approved, reason, descriptor, requestReason, isAutomatic, signature, ...more } = approval as Fields;
  const approvalId = id;
  const request = withoutAbsent({
    ...{ type: "tool-approval-request", approvalId, toolCallId, approvalDescriptor: descriptor },
    ...{ reason: requestReason, isAutomatic, signature },
    ...("inputSchemaInput" in more && { inputSchemaInput: more.inputSchemaInput }),
  });
  const isAsked = typeof before?.approval === "object";
  const chunks: Fields[] = isAsked ? [] : [request];
  if (approved !== undefined)
    chunks.push(withoutAbsent({ type: "tool-approval-response", approvalId, approved, reason }));
  return chunks;
}

function withoutAbsent(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
