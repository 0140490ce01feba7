import type Database from "libsql";
import { titleWords } from "../../domain/session-order.js";
import type { SessionRecord } from "../history/log-store.js";
import { fromColumn } from "../text-column.js";
import { listedRow } from "./listed-table.js";
import { SQL, Statement } from "./statements.js";

/** The driver would end a title at U+0000, so its JSON is read. */
const READ =
  "SELECT uid, namespace, owner, session_id, body FROM sessions WHERE deleted = 0 AND uid > ? ORDER BY uid LIMIT 1000";

/** Lists the sessions of an earlier version, inside a transaction that the caller holds. */
export function listSessions(db: Database.Database): void {
  const read = new Statement(db, READ);
  const insert = new Statement(db, SQL.insertListed);
  const insertWord = new Statement(db, SQL.insertWord);
  for (let rows = read.all(""); rows.length > 0; rows = read.all(rows.at(-1)?.[0] as string)) {
    for (const row of rows) {
      const [uid, namespace, owner, sessionId, body] = row as ListedRow;
      const { createTimeMicros, title } = JSON.parse(body) as Pick<SessionRecord, "createTimeMicros" | "title">;
      const words = titleWords(title);
      const ids = { uid: fromColumn(uid), owner: fromColumn(owner), sessionId: fromColumn(sessionId) };
      insert.run(...listedRow(namespace, { ...ids, createTimeMicros, title, deleted: false }, words));
      for (const word of words) insertWord.run(namespace, word, uid);
    }
  }
}

type ListedRow = readonly [string, string, string, string, string];
