import Database from "libsql";
import { parseEntry } from "../foreign/parse-entry.js";
import { isObject } from "../shape.js";
import { rest } from "./fields.js";
import { opencode } from "./opencode.js";
import type { DatabaseReader, Entry, ReadContext } from "./reader.js";

type Row = Record<string, unknown>;

/** Columns of sessions that `opencode export` names in another way or nests. */
const RENAMED = [
  ...["parent_id", "project_id", "workspace_id", "share_url", "time_created", "time_updated", "time_compacting"],
  ...["time_archived", "summary_additions", "summary_deletions", "summary_files", "summary_diffs"],
] as const;

/**
 * The database of OpenCode, `~/.local/share/opencode/opencode.db`: its rows in the form that `opencode export` writes.
 */
export const opencodeDatabase: DatabaseReader = {
  name: "OpenCode",
  tables: ["session", "message", "part"],
  readDatabase: (path, context) => opencode.read(sessionsOf(path, context), context),
};

async function* sessionsOf(path: string, { document, notes }: ReadContext): AsyncGenerator<Entry> {
  const database = new Database(path);
  try {
    const sql = (text: string) => database.prepare(text);
    const messages = sql("SELECT * FROM message WHERE session_id = ? ORDER BY time_created, id");
    const parts = sql("SELECT * FROM part WHERE session_id = ? ORDER BY id");
    const hasTodos = sql("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'todo'").get() !== undefined;
    const todos = hasTodos && sql("SELECT content, status, priority FROM todo WHERE session_id = ? ORDER BY position");
    for (const session of sql("SELECT * FROM session ORDER BY time_created, id").all() as Row[]) {
      const { id } = session;
      const place = `${document}, session ${JSON.stringify(id)}`;
      const onLost = (what: string) => notes.leftOut(`${what} that are not valid JSON`, place);
      const ofMessage = new Map<unknown, Row[]>();
      for (const part of parts.all(id) as Row[]) {
        const own = ofMessage.get(part.message_id);
        if (own === undefined) ofMessage.set(part.message_id, [part]);
        else own.push(part);
      }
      const list = (messages.all(id) as Row[]).flatMap((row) => {
        const info = dataOf(row, () => onLost("messages"));
        const own = (ofMessage.get(row.id) ?? []).flatMap((part) => dataOf(part, () => onLost("parts")) ?? []);
        return info ? [{ info: withTime(info, row), parts: own }] : [];
      });
      const info = { ...infoOf(session), ...(todos && { todos: todos.all(id) }) };
      yield { place: document, value: { info, messages: list } };
    }
  } finally {
    database.close();
  }
}

/** The JSON of a row, which holds everything but the ids. */
function dataOf({ id, data }: Row, onLost: () => void): Row | undefined {
  const value = parsed(data);
  if (isObject(value)) return { ...value, id };
  onLost();
  return undefined;
}

function withTime(info: Row, { time_created: created }: Row): Row {
  return isObject(info.time) && info.time.created !== undefined ? info : { ...info, time: { created } };
}

function infoOf(row: Row): Row {
  const given = (fields: Row) => rest(fields);
  const others = Object.entries(rest(row, ...RENAMED) ?? {}).map(([name, value]) => [name, fromText(value)] as const);
  return {
    ...Object.fromEntries(others),
    ...given({
      parentID: row.parent_id,
      projectID: row.project_id,
      workspaceID: row.workspace_id,
      share: row.share_url ? { url: row.share_url } : null,
      time: given({
        created: row.time_created,
        updated: row.time_updated,
        compacting: row.time_compacting,
        archived: row.time_archived,
      }),
      summary: given({
        additions: row.summary_additions,
        deletions: row.summary_deletions,
        files: row.summary_files,
        diffs: fromText(row.summary_diffs),
      }),
    }),
  };
}

/** Columns such as `revert` and `permission` hold JSON. */
function fromText(value: unknown): unknown {
  return typeof value === "string" && /^[[{]/.test(value) ? (parsed(value) ?? value) : value;
}

function parsed(text: unknown): unknown {
  try {
    return typeof text === "string" ? parseEntry(text) : undefined;
  } catch {
    return undefined;
  }
}
