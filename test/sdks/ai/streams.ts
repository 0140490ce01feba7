import type { ZodObject } from "./samples.js";
import { samplesOf } from "./samples.js";

export type Chunk = Readonly<Record<string, unknown>> & { readonly type: string };

const input = { type: "tool-input-available", input: { query: "azalea" } };
const approval = { type: "tool-approval-request" };
const text = [{ type: "text-start" }, { type: "text-delta" }, { type: "text-end" }];
const call = [{ type: "tool-input-start" }, { type: "tool-input-delta", inputTextDelta: '{"query":"aza' }, input];
const of = (id: string) => (chunk: Chunk) => ({ ...chunk, id });
const ofCall = (toolCallId: string) => (chunk: Chunk) => ({ ...chunk, toolCallId });

/**
 * What stands between the first and the last chunk of a stream. A chunk gets its other fields from the SDK's schema,
 * once without the optional ones and once with all of them.
 */
const MIDDLES: Readonly<Record<string, readonly Chunk[]>> = {
  text: [{ type: "text-start" }, { type: "text-delta" }, { type: "text-delta", delta: " 👩‍🌾" }, { type: "text-end" }],
  "text cut in a character": [
    { type: "text-start" },
    { type: "text-delta", delta: "\ud83c" },
    { type: "text-delta", delta: "\udf38!" },
    { type: "text-end" },
  ],
  "two texts at a time": [0, 1, 2].flatMap((i) => ["a", "b"].map((id) => of(id)(text[i] as Chunk))),
  reasoning: [{ type: "reasoning-start" }, { type: "reasoning-delta" }, { type: "reasoning-end" }, ...text],
  tool: [...call, { type: "tool-output-available", preliminary: undefined }, ...text],
  "tool whose input is not streamed": [input, { type: "tool-output-available", preliminary: undefined }],
  "tool that fails": [...call, { type: "tool-output-error" }],
  "tool that answers nothing": [input, { type: "tool-output-available", preliminary: undefined, output: null }],
  "input that is not JSON": [...call.slice(0, 2), { type: "tool-input-error", input: '{"query":"aza' }],
  "preliminary outputs": [
    input,
    { type: "tool-output-available", preliminary: true, output: { percent: 1 } },
    { type: "tool-output-available", preliminary: true, output: { percent: 50 } },
    { type: "tool-output-available", preliminary: undefined, output: { percent: 100 } },
  ],
  "two calls at a time": [...call, { type: "tool-output-available", preliminary: undefined }].flatMap((chunk) =>
    ["c1", "c2"].map((id) => ofCall(id)(chunk)),
  ),
  "approval asked for": [input, approval],
  "approval given": [
    ...[input, approval, { type: "tool-approval-response", approved: true }],
    { type: "tool-output-available", preliminary: undefined },
  ],
  "approval refused": [
    input,
    approval,
    { type: "tool-approval-response", approved: false },
    { type: "tool-output-denied" },
  ],
  "output denied": [input, approval, { type: "tool-output-denied" }],
  sources: [{ type: "source-url" }, { type: "source-document" }, ...text],
  file: [{ type: "file" }],
  "file of the reasoning": [{ type: "reasoning-file" }],
  "custom part": [{ type: "custom" }],
  "steering message": [...text, { type: "steering-message" }, ...text],
  data: [{ type: "data-chart", transient: undefined }],
  "data that changes": [1, 2, 3].map((points) => ({
    type: "data-chart",
    id: "d",
    transient: undefined,
    data: { points },
  })),
  "transient data": [{ type: "data-chart", transient: true }, ...text],
  metadata: [{ type: "message-metadata", messageMetadata: { tokens: 7 } }, ...text, { type: "message-metadata" }],
  "two steps": [...call, { type: "tool-output-available", preliminary: undefined }, ...step(text)],
  "step begun again": [...text, ...call, { type: "reset-step" }, ...text],
  "second step begun again": [...text, ...step([...text, { type: "reset-step" }, ...text.map(of("t2"))])],
  abort: [...text, { type: "abort" }],
  error: [...text, { type: "error" }],
};

function step(chunks: readonly Chunk[]): Chunk[] {
  return [{ type: "finish-step" }, { type: "start-step" }, ...chunks];
}

/** The streams of an SDK with these chunks, by name. Streams with chunks that the SDK lacks are left out. */
export function streamsOf(chunks: readonly ZodObject[]): Map<string, Chunk[]> {
  const samples = new Map(chunks.flatMap(samplesOf).map((sample) => [sample.type as string, [] as Chunk[]]));
  for (const sample of chunks.flatMap(samplesOf) as Chunk[]) samples.get(sample.type)?.push(sample);
  const streams = new Map<string, Chunk[]>();
  for (const [name, middle] of Object.entries(MIDDLES)) {
    const ends = middle.some(({ type }) => type === "abort" || type === "error");
    const last = ends ? [] : [{ type: "finish-step" }, { type: "finish" }];
    const all = [{ type: "start", messageId: "answer" }, { type: "start-step" }, ...middle, ...last];
    if (!all.every(({ type }) => samples.has(type))) continue;
    for (const [i, fields] of ["least", "all"].entries())
      streams.set(
        `${name} [${fields} fields]`,
        all.map((chunk) => ({ ...samples.get(chunk.type)?.at(i), ...chunk })),
      );
  }
  return streams;
}

/** The types of chunks that are in no stream. */
export function typesWithoutStream(types: readonly string[], streams: ReadonlyMap<string, readonly Chunk[]>): string[] {
  const used = new Set([...streams.values()].flat().map(({ type }) => type));
  return types.filter((type) => !used.has(type));
}
