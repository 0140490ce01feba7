import type { Session } from "../../../domain/session.js";
import type { SessionRecord } from "../log-store.js";

/** The fields of a session that its record alone determines. */
export function sessionFields(record: SessionRecord): Omit<Session, "reverted"> {
  return {
    sessionId: record.sessionId,
    parentId: record.parentId,
    forkPointId: record.forkPointId,
    title: record.title,
    metadata: record.metadata,
    labels: record.labels,
    expireTimeMicros: record.expireTimeMicros,
    createTimeMicros: record.createTimeMicros,
    updateTimeMicros: record.updateTimeMicros,
    inheritedCount: record.inheritedCount,
    revision: record.sessionRevision,
  };
}
