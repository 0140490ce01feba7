import type { Message, Session } from "../api/types.js";

/** The lines of a backup of one session, which `session-pool import` reads. They hold all that REST tells of it. */
export function backupLines(session: Session, messages: readonly Message[]): string[] {
  const { sessionId, title, metadata, labels, owner, expireTime, createTime, updateTime } = session;
  const { parentId, forkPointId, inheritedCount, revision } = session;
  const line = {
    sessionId,
    title,
    metadata,
    labels,
    owner: owner || undefined,
    expireTimeMicros: expireTime && microsOf(expireTime),
    createTimeMicros: microsOf(createTime),
    updateTimeMicros: microsOf(updateTime),
    revision: Number(revision),
    parentId,
    forkPointId,
    inheritedCount: Number(inheritedCount),
    messages: messages.length > 0 ? [[1, messages.length]] : [],
  };
  const items = [
    { format: "session-pool", version: 2 },
    { session: line },
    ...messages.map((message) => ({ message: messageOf(message, sessionId) })),
    { todos: [] },
  ];
  return items.map((item) => `${JSON.stringify(item)}\n`);
}

function messageOf({ info, parts }: Message, sessionId: string): object {
  const { id, role, timestamp, metadata, originSessionId = "" } = info;
  const isElsewhere = originSessionId !== "" && originSessionId !== sessionId;
  return {
    id,
    role,
    timestampMicros: microsOf(timestamp),
    parts,
    metadata,
    ...(isElsewhere && { originSessionId }),
  };
}

/** Microseconds since 1970 of a time as REST writes it, of which a Date would keep only milliseconds. */
function microsOf(time: string): number {
  const [, whole, fraction = ""] = /^(.*?)(?:\.(\d+))?Z$/.exec(time) ?? [];
  return Date.parse(`${whole}Z`) * 1000 + Number(fraction.padEnd(6, "0").slice(0, 6));
}
