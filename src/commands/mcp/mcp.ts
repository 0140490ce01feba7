import { checkOwner } from "../../domain/access.js";
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
  /** The owner whose sessions alone are read and changed; absent for all sessions. */
  readonly owner?: string | undefined;
  /** Whether the tools with an owner get no todo list. */
  readonly hideTodosFromOwners?: boolean | undefined;
}

/**
 * Serves the Model Context Protocol on standard input and output until the input has ended and is answered, the client
 * has gone, or a signal asks to end.
 */
export async function serveMcp(target: McpTarget): Promise<void> {
  const { storage, namespace, limits = DEFAULT_LIMITS, allowWrites, audit, owner } = target;
  const { hideTodosFromOwners: hidesTodos } = target;
  checkOwner("--owner", owner);
  const access = owner === undefined ? undefined : { owner };
  const serve = async (pools: Pools) => {
    const context = { namespace, rootPool: pools.for(namespace), limits, access, hidesTodos };
    const server = createMcpServer(context, { allowWrites, audit });
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
  await withPools(storage, serve, { limits, search: true });
}

/** Resolves when the client has closed standard output. Rejects when it cannot be written for another reason. */
function whenNobodyReads(): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.on("error", (error: NodeJS.ErrnoException) => (error.code === "EPIPE" ? resolve() : reject(error)));
  });
}
