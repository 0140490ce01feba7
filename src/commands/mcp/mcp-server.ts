import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { codeName } from "../../api/api-error.js";
import { toApiError } from "../../api/error-mapping.js";
import type { ApiContext } from "../../api/method-table.js";
import { VERSION } from "../../version.js";
import type { CommandAudit } from "../audited.js";
import { addAttachments } from "./attachments.js";
import { methodOf, rpcCaller } from "./call-rpc.js";
import { type Tool, toolsFor } from "./tools.js";

const INSTRUCTIONS =
  "session-pool keeps the conversations of agents: sessions, their messages in order, and one list of todos.";

/**
 * The server that a Model Context Protocol client talks to: the RPCs of the table, with the answers that REST gives.
 * Answers of tools that read are bounded in bytes, because they take up a model's context.
 */
export function createMcpServer(
  context: ApiContext,
  { audit, ...options }: { readonly allowWrites: boolean; readonly audit?: CommandAudit | undefined },
): McpServer {
  const server = new McpServer({ name: "session-pool", version: VERSION }, { instructions: INSTRUCTIONS });
  for (const tool of toolsFor(options)) addTool(server, tool, context, audit);
  addAttachments(server, context);
  return server;
}

function addTool(server: McpServer, tool: Tool, context: ApiContext, audit: CommandAudit | undefined): void {
  const { name, title, description, input, rpc, run, isDestructive = false } = tool;
  const { scope } = methodOf(rpc);
  const annotations = { readOnlyHint: scope === "read", destructiveHint: isDestructive, openWorldHint: false };
  server.registerTool(
    name,
    { title, description, inputSchema: z.strictObject(input), annotations },
    async (args, { signal }) => {
      try {
        const call = rpcCaller(context, signal, audit);
        return textResult(JSON.stringify(await (run === undefined ? call(rpc, args) : run(call, args))));
      } catch (error) {
        const { code, message } = toApiError(error);
        return { ...textResult(`${codeName(code)}: ${message}`), isError: true };
      }
    },
  );
}

function textResult(text: string): CallToolResult {
  return { content: [{ type: "text", text }] };
}
