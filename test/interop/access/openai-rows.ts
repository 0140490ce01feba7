import type { Json } from "../table/row.js";
import type { AccessRow } from "./rows.js";

/** A request of OpenAI's routes, and who may make it. */
export interface OpenAiRow extends Pick<AccessRow, "scope" | "ticket" | "about" | "isDestructive"> {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: (sessionId: string) => string;
  readonly body?: Json;
}

const READ = { scope: "read", ticket: "read", about: "session", method: "GET" } as const;
const KEY_WRITE = { scope: "write", ticket: "none", about: "session", method: "POST" } as const;
const items = [{ type: "message", role: "user", content: "hello" }];

/** Every operation of OpenAI's routes, by the name of the function that carries it out. */
export const OPENAI_ROWS: Readonly<Record<string, OpenAiRow>> = {
  createConversation: { ...KEY_WRITE, about: "nothing", path: () => "", body: { items } },
  retrieveConversation: { ...READ, path: (id) => `/${id}` },
  updateConversation: { ...KEY_WRITE, path: (id) => `/${id}`, body: { metadata: { a: "b" } } },
  deleteConversation: { ...KEY_WRITE, method: "DELETE", isDestructive: true, path: (id) => `/${id}` },
  listItems: { ...READ, path: (id) => `/${id}/items?order=asc` },
  createItems: { ...KEY_WRITE, ticket: "write", path: (id) => `/${id}/items`, body: { items } },
  retrieveItem: { ...READ, path: (id) => `/${id}/items/m1` },
  deleteItem: { ...KEY_WRITE, method: "DELETE", path: (id) => `/${id}/items/m2` },
};
