import { DEFAULT_LIMITS } from "../../domain/limits.js";
import type { Pools } from "../../pools.js";
import { stopSignal } from "../signals.js";
import { watchStore } from "../watchdog.js";
import { type CommandTarget, withPools } from "../with-pools.js";
import { createMcpServer } from "./mcp-server.js";
import { StdioTransport } from "./stdio-transport.js";

export interface McpTarget extends CommandTarget {
  /** Without it, only the tools that read are offered. */
  readonly allowWrites: boolean;
}

/**
 * Serves the Model Context Protocol on standard input and output until the input has ended and is answered, the client
 * has gone, or a signal asks to end.
 */
export function serveMcp({ storage, namespace, limits = DEFAULT_LIMITS, allowWrites }: McpTarget): Promise<void> {
  const serve = async (pools: Pools) => {
    const server = createMcpServer({ namespace, rootPool: pools.for(namespace), limits }, { allowWrites });
    const ended = new Promise((resolve) => process.stdin.once("end", resolve));
    watchStore({ storage, shutdownMs: 0 });
    const stopped = stopSignal();
    const transport = new StdioTransport();
    const gone = whenNobodyReads();
    await server.connect(transport);
    try {
      await Promise.race([ended.then(() => transport.allAnswered()), stopped, gone]);
    } finally {
      await server.close();
    }
  };
  return withPools(storage, serve, { limits, search: true });
}

/** Resolves when the client has closed standard output. Rejects when it cannot be written for another reason. */
function whenNobodyReads(): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.on("error", (error: NodeJS.ErrnoException) => (error.code === "EPIPE" ? resolve() : reject(error)));
  });
}
