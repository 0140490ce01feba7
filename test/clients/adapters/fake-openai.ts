// Replaces @ai-sdk/openai with a model that answers without a network.
import { simulateReadableStream } from "ai";
import { MockLanguageModelV3 } from "ai/test";

const WORDS = ["Late", " April", " to the middle of May."];
const USAGE = {
  inputTokens: { total: 3, noCache: 3, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 3, text: 3, reasoning: undefined },
};

export function openai(modelId: string): MockLanguageModelV3 {
  return new MockLanguageModelV3({
    modelId,
    doStream: async () => ({
      stream: simulateReadableStream({
        initialDelayInMs: null,
        chunkDelayInMs: null,
        chunks: [
          { type: "text-start", id: "t" },
          ...WORDS.map((delta) => ({ type: "text-delta", id: "t", delta }) as const),
          { type: "text-end", id: "t" },
          { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage: USAGE },
        ],
      }),
    }),
  });
}
