import { DEFAULT_LIMITS } from "../../domain/limits.js";
import type { Pools } from "../../pools.js";
import { StopSignals } from "../signals.js";
import { type CommandTarget, withPools } from "../with-pools.js";
import { createMcpServer } from "./mcp-server.js";
import { StdioTransport } from "./stdio-transport.js";

export interface McpTarget extends CommandTarget {
  /** Without it, only the tools that read are offered. */
  readonly allowWrites: boolean;
}

/**
 * Serves the Model Context Protocol on standard input and output until the input has ended and is answered, or a signal
 * asks to end.
 */
export function serveMcp({ storage, namespace, limits = DEFAULT_LIMITS, allowWrites }: McpTarget): Promise<void> {
  const serve = async (pools: Pools) => {
    const server = createMcpServer({ rootPool: pools.for(namespace), limits }, { allowWrites });
    const ended = new Promise((resolve) => process.stdin.once("end", resolve));
    const stopped = new StopSignals().next();
    const transport = new StdioTransport();
    await server.connect(transport);
    await Promise.race([ended.then(() => transport.allAnswered()), stopped]);
    await server.close();
  };
  return withPools(storage, serve, { limits });
}
