import Database from "libsql";
import type { JsonObject } from "../../../domain/json.js";
import { parseEntry } from "../foreign/parse-entry.js";
import { isObject } from "../shape.js";
import { branchesOf, type TreeNode } from "./branches.js";
import { fieldAt, microsOf, textAt } from "./fields.js";
import type { DatabaseReader, ForeignMessage, ForeignPart, ForeignSession, ReadContext } from "./reader.js";

type Row = Record<string, unknown>;

const BRANCHES = `
  SELECT branch_id, message_id FROM message_structure WHERE session_id = ?
  ORDER BY branch_id <> 'main', min(id) OVER (PARTITION BY branch_id), sequence_number, id`;

/**
 * The SQLite file of the OpenAI Agents SDK for Python (SQLiteSession and AdvancedSQLiteSession, whose branches become
 * forks). Items have the form in which the SDK's adapter keeps them, so that an agent can go on with an imported
 * session.
 */
export const openaiAgents: DatabaseReader = {
  name: "the OpenAI Agents SDK",
  tables: ["agent_sessions", "agent_messages"],
  async *readDatabase(path, context) {
    const database = new Database(path);
    try {
      const sql = (text: string) => database.prepare(text);
      const items = sql("SELECT id, message_data, created_at FROM agent_messages WHERE session_id = ? ORDER BY id");
      const hasBranches =
        sql("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'message_structure'").get() !== undefined;
      const branches = hasBranches && sql(BRANCHES);
      const sessions = `
        SELECT session_id, created_at, updated_at FROM agent_sessions UNION ALL
        SELECT session_id, min(created_at), max(created_at) FROM agent_messages
        WHERE session_id NOT IN (SELECT session_id FROM agent_sessions) GROUP BY session_id`;
      for (const session of sql(sessions).all() as Row[]) {
        const { session_id: id } = session;
        const structure = branches ? (branches.all(id) as Row[]) : [];
        yield sessionOf(session, items.all(id) as Row[], structure, context);
      }
    } finally {
      database.close();
    }
  },
};

function sessionOf(
  session: Row,
  rows: readonly Row[],
  structure: readonly Row[],
  context: ReadContext,
): ForeignSession {
  const sessionId = String(session.session_id);
  const messages = new Map<unknown, ForeignMessage>();
  for (const row of rows) {
    const item = parsed(row.message_data);
    const place = `${context.document}, session ${JSON.stringify(sessionId)}, row ${row.id}`;
    if (item === undefined) context.notes.leftOut("items that are not valid JSON", place);
    else messages.set(row.id, { id: `item-${row.id}`, timestampMicros: microsOf(row.created_at), ...messageOf(item) });
  }
  return {
    sessionId,
    createTimeMicros: microsOf(session.created_at),
    updateTimeMicros: microsOf(session.updated_at),
    ...branchesOf(nodesOf(messages, structure), lastOfMain(structure)),
  };
}

/** The tree of the branches, each of which lists its messages from the beginning; without branches, a list. */
function nodesOf(messages: ReadonlyMap<unknown, ForeignMessage>, structure: readonly Row[]): TreeNode[] {
  const nodes = new Map<unknown, TreeNode>();
  const add = (key: unknown, parent: unknown) => {
    const message = messages.get(key);
    if (!nodes.has(key))
      nodes.set(key, { id: `${key}`, parent: parent === undefined ? undefined : `${parent}`, message });
  };
  for (const [i, { branch_id, message_id }] of structure.entries()) {
    const before = structure[i - 1];
    add(message_id, before?.branch_id === branch_id ? before?.message_id : undefined);
  }
  let previous = structure.filter(({ branch_id }) => branch_id === "main").at(-1)?.message_id;
  for (const key of messages.keys()) {
    if (!nodes.has(key)) add(key, previous);
    if (structure.length === 0) previous = key;
  }
  return [...nodes.values()];
}

function lastOfMain(structure: readonly Row[]): string | undefined {
  const last = structure.findLast(({ branch_id }) => branch_id === "main");
  return last && `${last.message_id}`;
}

function parsed(text: unknown): unknown {
  try {
    return parseEntry(String(text));
  } catch {
    return undefined;
  }
}

/** An item as a message, as the adapter for the SDK stores it. Items of unknown forms are kept as a whole. */
function messageOf(item: unknown): Pick<ForeignMessage, "role" | "parts" | "metadata"> {
  const fields = (isObject(item) ? item : { $json: JSON.stringify(item) }) as JsonObject;
  const { type = "message", role, content, ...kept } = fields;
  const isListed = Array.isArray(content) && content.every(isPiece);
  if (type === "message" && typeof role === "string" && role !== "" && (typeof content === "string" || isListed)) {
    const pieces = typeof content === "string" ? [content] : (content as readonly unknown[]);
    const openai = {
      ...(fields.type !== undefined && { type }),
      ...kept,
      ...(typeof content === "string" && { content: "text" }),
    };
    return { role, parts: pieces.map(partOf), metadata: { openai } };
  }
  if (typeof type !== "string" || type === "message" || type === "") {
    const name = typeof role === "string" && role !== "" ? role : "assistant";
    const words = wordsOf(content);
    const parts = [{ type: "item", data: fields }, ...(words === "" ? [] : [{ type: "text", text: words }])];
    return { role: name, parts, metadata: { openai_item: true } };
  }
  const isResult = type.endsWith("_output");
  return { role: isResult ? "tool" : "assistant", parts: [{ type, data: fields }], metadata: { openai: { type } } };
}

/** Whether a part can stand for a piece of content; a text that is missing would come back empty. */
function isPiece(piece: unknown): boolean {
  const type = textAt(piece, "type");
  return type !== "" && (type !== "text" || typeof fieldAt(piece, "text") === "string");
}

/** The text of an unusual message, for people who look for it. */
function wordsOf(content: unknown): string {
  const pieces = Array.isArray(content) ? content : [content];
  const texts = pieces.map((piece) => (isObject(piece) ? fieldAt(piece, "text") : piece));
  return texts.filter((text) => typeof text === "string").join("");
}

function partOf(piece: unknown): ForeignPart {
  if (!isObject(piece)) return { type: "text", text: String(piece) };
  const { text, ...data } = piece as JsonObject;
  if (typeof text !== "string") return { type: textAt(piece, "type"), data: piece as JsonObject };
  return { type: "text", text, data };
}
