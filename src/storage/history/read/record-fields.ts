import { type Session, sessionFields } from "../../../domain/session.js";
import type { SessionRecord } from "../log-store.js";

/** The fields of a session that its record alone determines. */
export function recordFields(record: SessionRecord): Omit<Session, "reverted"> {
  return { ...sessionFields(record), revision: record.sessionRevision, ...record.bin };
}
