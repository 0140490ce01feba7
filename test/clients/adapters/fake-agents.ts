// Replaces @openai/agents with the SDK itself and a model that answers without a network.
import {
  type Model,
  type ModelRequest,
  type ModelResponse,
  setDefaultModelProvider,
  setTracingDisabled,
  Usage,
} from "@openai/agents-core";

export * from "@openai/agents-core";

/** Answers the first question. It answers the second one only if it also gets the messages before it. */
const model: Model = {
  async getResponse({ input }: ModelRequest): Promise<ModelResponse> {
    const questions = Array.isArray(input) ? input.filter((item) => "role" in item && item.role === "user").length : 1;
    const text = questions === 1 ? "Late April to the middle of May." : "In November.";
    const content = [{ type: "output_text" as const, text }];
    const output = [{ type: "message" as const, role: "assistant" as const, status: "completed" as const, content }];
    return { usage: new Usage(), output };
  },
  getStreamedResponse() {
    throw new Error("The tests use no streams");
  },
};

setTracingDisabled(true);
setDefaultModelProvider({ getModel: async () => model });
