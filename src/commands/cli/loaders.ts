/** Each command is loaded when it is called, because each needs only part of the program. */
export const commands = {
  audited: () => import("../audited.js"),
  assign: () => import("../assign-sessions.js"),
  bulk: () => import("../bulk-sessions.js"),
  deleteOwner: () => import("../delete-owner.js"),
  erase: () => import("../erase.js"),
  export: () => import("../transfer/export-sessions.js"),
  health: () => import("../health.js"),
  import: () => import("../transfer/import-sessions.js"),
  indexes: () => import("../indexes.js"),
  schema: () => import("../schema.js"),
  keys: () => import("../keys.js"),
  mcp: () => import("../mcp/mcp.js"),
  serve: () => import("../serve.js"),
  sessions: () => import("../sessions.js"),
  sweep: () => import("../sweep.js"),
  ticketSecret: () => import("../ticket-secret.js"),
  todo: () => import("../todo.js"),
  usage: () => import("../usage.js"),
};

/** Runs a command that the audit log has a line of; see `audited.ts`. */
export async function audited<T>(...call: Parameters<typeof import("../audited.js").audited<T>>): Promise<T> {
  return (await commands.audited()).audited(...call);
}
