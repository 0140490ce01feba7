import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A server like OpenAI's Responses API that always gives the same answer. */
export interface FakeModel {
  /** The value for OPENAI_BASE_URL. */
  readonly url: string;
  stop(): void;
}

const TEXT = { type: "output_text", text: "Late April to the middle of May.", annotations: [], logprobs: [] };
const MESSAGE = { id: "msg_1", type: "message", role: "assistant", status: "completed", content: [TEXT] };
const NO_TOKENS = {
  ...{ input_tokens: 0, output_tokens: 0, total_tokens: 0 },
  ...{ input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } },
};
const RESPONSE = {
  ...{ id: "resp_1", object: "response", created_at: 0, model: "fake", status: "completed", output: [MESSAGE] },
  ...{ parallel_tool_calls: false, tool_choice: "auto", tools: [], usage: NO_TOKENS },
};

/** Starts the server on a free port. */
export async function startFakeModel(): Promise<FakeModel> {
  const server = createServer((request, response) => {
    request.resume();
    response.setHeader("content-type", "application/json").end(JSON.stringify(RESPONSE));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
