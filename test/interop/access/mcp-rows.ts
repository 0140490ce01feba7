import type { Json } from "../table/row.js";
import type { AccessRow } from "./rows.js";

/** A call of a tool for a Model Context Protocol client. */
export interface McpRow extends Pick<AccessRow, "about"> {
  readonly tool: string;
  readonly args: (sessionId: string, fresh: string) => Json;
}

const text = { role: "user", text: "hello", messageId: "new" };

/** Every tool. */
export const MCP_ROWS: readonly McpRow[] = [
  { tool: "list_sessions", about: "list", args: () => ({ limit: 100 }) },
  { tool: "list_sessions", about: "list", args: (parentId) => ({ parentId }) },
  { tool: "read_session", about: "session", args: (sessionId) => ({ sessionId }) },
  { tool: "read_session", about: "session", args: (sessionId) => ({ sessionId, messageId: "m1" }) },
  { tool: "search_messages", about: "list", args: () => ({ q: "word", limit: 100 }) },
  { tool: "search_messages", about: "session", args: (sessionId) => ({ q: "word", sessionId }) },
  { tool: "list_attachments", about: "session", args: (sessionId) => ({ sessionId }) },
  { tool: "append_message", about: "session", args: (sessionId) => ({ sessionId, ...text }) },
  { tool: "append_message", about: "id", args: (sessionId) => ({ sessionId, createSession: true, ...text }) },
  { tool: "fork_session", about: "session", args: (sessionId, newSessionId) => ({ sessionId, newSessionId }) },
  { tool: "revert_session", about: "session", args: (sessionId) => ({ sessionId, upToMessageId: "m1" }) },
  { tool: "unrevert_session", about: "session", args: (sessionId) => ({ sessionId }) },
  { tool: "list_todos", about: "nothing", args: () => ({}) },
  { tool: "add_todo", about: "nothing", args: () => ({ content: "to do" }) },
  { tool: "update_todo", about: "nothing", args: () => ({ id: "none", content: "to do" }) },
  { tool: "remove_todo", about: "nothing", args: () => ({ id: "none" }) },
];
