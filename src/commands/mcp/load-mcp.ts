/** Loads the command `mcp`. Rejects with an Error when its optional packages are not installed. */
export async function loadMcp(): Promise<typeof import("./mcp.js")> {
  try {
    return await import("./mcp.js");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new Error("mcp needs optional packages: install @modelcontextprotocol/sdk and zod", { cause: error });
  }
}
