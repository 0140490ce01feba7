import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { toApiError } from "../../api/error-mapping.js";
import { API_METHODS, type ApiContext, type ApiMethod } from "../../api/method-table.js";
import { textOf } from "../../domain/byte-string.js";
import { codeName } from "../../server/call/code-name.js";
import { messageReader } from "../../server/codec/json-reader.js";
import { jsonMessageWriter } from "../../server/codec/json-writer.js";
import { VERSION } from "../../version.js";
import { type Tool, toolsFor } from "./tools.js";

const INSTRUCTIONS =
  "session-pool keeps the conversations of agents: sessions, their messages in order, and one list of todos.";

/**
 * The server that a Model Context Protocol client talks to: the RPCs of the table, with the answers that REST gives.
 */
export function createMcpServer(context: ApiContext, options: { readonly allowWrites: boolean }): McpServer {
  const server = new McpServer({ name: "session-pool", version: VERSION }, { instructions: INSTRUCTIONS });
  for (const tool of toolsFor(options)) addTool(server, tool, context);
  return server;
}

function addTool(server: McpServer, tool: Tool, context: ApiContext): void {
  const { name, title, description, input, isDestructive = false } = tool;
  const method = methodOf(tool.rpc);
  const read = messageReader(method.desc.input);
  const write = jsonMessageWriter(method.desc.output);
  const annotations = { readOnlyHint: method.scope === "read", destructiveHint: isDestructive, openWorldHint: false };
  server.registerTool(
    name,
    { title, description, inputSchema: z.strictObject(input), annotations },
    async (args, { signal }) => {
      try {
        const request = read(withoutAbsent(tool.request?.(args) ?? args));
        const answer = await method.unary(request, { ...context, signal });
        return textResult(textOf(write(answer)));
      } catch (error) {
        const { code, message } = toApiError(error);
        return { ...textResult(`${codeName(code)}: ${message}`), isError: true };
      }
    },
  );
}

function methodOf(rpc: string): ApiMethod & Required<Pick<ApiMethod, "unary">> {
  const method = API_METHODS.find(({ desc }) => `${desc.parent.typeName}.${desc.name}` === rpc);
  if (method?.unary === undefined) throw new Error(`There is no unary RPC ${rpc}`);
  return { ...method, unary: method.unary };
}

function textResult(text: string): CallToolResult {
  return { content: [{ type: "text", text }] };
}

/** The JSON as it is sent, without undefined fields. */
function withoutAbsent(json: unknown): unknown {
  return JSON.parse(JSON.stringify(json));
}
