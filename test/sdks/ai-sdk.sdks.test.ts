import type { UIMessage } from "ai";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith } from "../support/toolchain.js";
import { expectSame, resumeAfterEachChunk, unlessStreaming } from "./ai/resume.js";
import { samplesOf, typeOf } from "./ai/samples.js";
import { type AiSdk, prepareAiSdk } from "./ai/sdk.js";
import { streamsOf, typesWithoutStream } from "./ai/streams.js";
import { outcomeOf } from "./differences.js";
import { judge, type Outcome } from "./suite.js";

/** The majors that package.json allows. */
for (const major of ["6", "7"]) await describeWith(`ai ${major} of npm`, () => prepareAiSdk(major), describeMajor);

function describeMajor(sdk: AiSdk): void {
  let server: TestServer;

  beforeAll(async () => {
    server = await startTestServer();
  });

  afterAll(() => server?.stop());

  it("gives back every part that the SDK's schema knows", async ({ task }) => {
    const outcomes = new Map<string, Outcome>();
    for (const part of await partsOf(sdk)) {
      const name = JSON.stringify(part).slice(0, 300);
      outcomes.set(name, await outcomeOf(() => saveAndLoad(sdk, server.httpUrl, part)));
    }
    const { problems, ...totals } = judge(outcomes, {});
    task.meta.suite = { sdk: sdk.sdk, suite: "forms of parts, saved and loaded", ...totals };
    expect(problems).toEqual([]);
  });

  it("resumes streams of all chunks that the SDK's schema knows, after each chunk", async ({ task }) => {
    const streams = streamsOf(sdk.chunks);
    const outcomes = new Map<string, Outcome>();
    for (const [name, chunks] of streams)
      outcomes.set(name, await outcomeOf(() => resumeAfterEachChunk(sdk, server.httpUrl, chunks)));
    const { problems, ...totals } = judge(outcomes, {});
    task.meta.suite = { sdk: sdk.sdk, suite: "streams, resumed after each chunk", ...totals };
    expect(problems).toEqual([]);
    expect(typesWithoutStream(await typesOfChunks(sdk), streams)).toEqual([]);
  });
}

type Part = UIMessage["parts"][number];

/** The samples that the SDK itself accepts as a part. The schema has other objects, too, such as citations. */
async function partsOf(sdk: AiSdk): Promise<Part[]> {
  const samples = new Map(sdk.parts.flatMap(samplesOf).map((sample) => [JSON.stringify(sample), sample]));
  const isPart = async (part: Part) => (await sdk.validate([{ id: "m", role: "assistant", parts: [part] }])).success;
  const parts = [...samples.values()] as unknown as Part[];
  const accepted = await Promise.all(parts.map(isPart));
  return parts.filter((_, i) => accepted[i]);
}

async function typesOfChunks(sdk: AiSdk): Promise<string[]> {
  const types = new Set<string>();
  for (const schema of sdk.chunks)
    for (const sample of samplesOf(schema)) if (await sdk.isChunk(sample as never)) types.add(typeOf(schema) ?? "");
  return [...types];
}

/** Saves a part, loads it, and gives it to the model's next call as the SDK does. */
async function saveAndLoad({ ai, ours }: AiSdk, baseUrl: string, part: Part): Promise<void> {
  const client = ours.createSessionPoolClient({ baseUrl });
  const chat = crypto.randomUUID();
  const answer: UIMessage = { id: "answer", role: "assistant", parts: [part, { type: "text", text: "Late April" }] };
  await ours.saveUIMessages(client, chat, [answer]);
  const loaded = await ours.loadUIMessages(client, chat);
  expectSame("loaded", unlessStreaming(loaded[0]), unlessStreaming(answer));
  const models = await ai.convertToModelMessages([answer]).catch(() => undefined);
  if (models !== undefined) expectSame("for the model", await ai.convertToModelMessages(loaded), models);
}
