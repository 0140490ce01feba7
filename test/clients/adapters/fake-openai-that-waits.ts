// Replaces @ai-sdk/openai with a model that says its first word, and the others when the test lets it continue.
import { MockLanguageModelV3 } from "ai/test";

type Options = NonNullable<ConstructorParameters<typeof MockLanguageModelV3>[0]>;
type DoStream = Extract<Options["doStream"], (...args: never[]) => unknown>;
type Chunk = Awaited<ReturnType<DoStream>>["stream"] extends ReadableStream<infer T> ? T : never;

const USAGE = {
  inputTokens: { total: 3, noCache: 3, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 3, text: 3, reasoning: undefined },
};

export function openai(modelId: string): MockLanguageModelV3 {
  const goOn = (globalThis as { modelMayGoOn?: Promise<void> }).modelMayGoOn;
  return new MockLanguageModelV3({
    modelId,
    doStream: async () => ({
      stream: new ReadableStream<Chunk>({
        async start(controller) {
          const say = (delta: string) => controller.enqueue({ type: "text-delta", id: "t", delta });
          controller.enqueue({ type: "text-start", id: "t" });
          say("Late");
          await goOn;
          say(" April");
          say(" to the middle of May.");
          controller.enqueue({ type: "text-end", id: "t" });
          controller.enqueue({ type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage: USAGE });
          controller.close();
        },
      }),
    }),
  });
}
