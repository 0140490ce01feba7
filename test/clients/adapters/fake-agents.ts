// Stands for @openai/agents: the SDK itself, with a model that answers without a network.
import {
  type Model,
  type ModelRequest,
  type ModelResponse,
  setDefaultModelProvider,
  setTracingDisabled,
  Usage,
} from "@openai/agents-core";

export * from "@openai/agents-core";

/** Answers the first question, and another one only when it is given what was said before. */
const model: Model = {
  async getResponse({ input }: ModelRequest): Promise<ModelResponse> {
    const questions = Array.isArray(input) ? input.filter((item) => "role" in item && item.role === "user").length : 1;
    const text = questions === 1 ? "Late April to the middle of May." : "In November.";
    const content = [{ type: "output_text" as const, text }];
    const output = [{ type: "message" as const, role: "assistant" as const, status: "completed" as const, content }];
    return { usage: new Usage(), output };
  },
  getStreamedResponse() {
    throw new Error("Not used");
  },
};

setTracingDisabled(true);
setDefaultModelProvider({ getModel: async () => model });
