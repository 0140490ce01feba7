const DEPARTURE = "place, kind, uid, session_id, owner, labels";

/** The statements of the feed. `record` is the columns of a record. */
export const feedSql = (record: string) =>
  ({
    feedId: "SELECT id FROM feed WHERE one = 1",
    lastChanged:
      "SELECT place FROM sessions WHERE namespace = ? AND deleted = 0 AND place IS NOT NULL ORDER BY place DESC LIMIT 1",
    lastDeparted: "SELECT place FROM departures WHERE namespace = ? ORDER BY place DESC LIMIT 1",
    feedFirst: "SELECT first FROM feed_starts WHERE namespace = ?",
    raiseFeedFirst: `INSERT INTO feed_starts (namespace, first) VALUES (?1, ?2)
      ON CONFLICT (namespace) DO UPDATE SET first = max(first, excluded.first)`,
    placeRecord: "UPDATE sessions SET place = ?1, made_at = iif(?2, ?1, made_at) WHERE uid = ?3",
    insertDeparture: `INSERT INTO departures (namespace, at, ${DEPARTURE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    changedAfter: `SELECT ${record}, place, made_at FROM sessions
      WHERE namespace = ? AND deleted = 0 AND place IS NOT NULL AND place > ? ORDER BY place LIMIT ?`,
    changedSince: `SELECT ${record}, place, made_at FROM sessions INDEXED BY sessions_by_time
      WHERE namespace = ? AND deleted = 0 AND update_time >= ? AND place IS NOT NULL`,
    departedAfter: `SELECT ${DEPARTURE} FROM departures WHERE namespace = ? AND place > ? ORDER BY place LIMIT ?`,
    departedBefore: "SELECT place FROM departures WHERE namespace = ? AND at < ? ORDER BY at LIMIT ?",
    deleteDeparture: "DELETE FROM departures WHERE namespace = ? AND place = ?",
  }) as const;
