import { labelTexts } from "../../../src/domain/labels.js";
import { NO_USAGE, plusUsage, sumsOf, type Usage } from "../../../src/domain/usage.js";
import {
  compareValues,
  type GroupValues,
  type UsageGroup,
  type UsageQuery,
  type UsageRow,
} from "../../../src/domain/usage-groups.js";
import { hasUsage } from "../../../src/domain/usage-text.js";
import type { NaiveMessage, NaiveSession } from "./naive-session.js";

/** How long before `sinceMicros` a session must have been changed at the latest. */
const DAY_MICROS = 86_400_000_000;

/** The rows of a sum over the messages that these sessions show, without calls of tools. */
export function sumRows(sessions: readonly NaiveSession[], query: UsageQuery): readonly UsageRow[] {
  const groups = new Map<string, { values: GroupValues; usages: Usage[] }>();
  for (const session of sessions.filter((one) => isMeant(one, query))) {
    for (const message of session.messages) {
      const { usage, originSessionId } = message;
      const isOwn = originSessionId === session.sessionId && hasUsage(usage);
      if (!isOwn || !isCounted(message.timestampMicros, usage, query)) continue;
      const values = query.groupBy.map((group) => groupValue(group, session, message));
      const key = JSON.stringify(values);
      const group = groups.get(key) ?? { values, usages: [] };
      group.usages.push(usage);
      groups.set(key, group);
    }
  }
  return [...groups.values()].map(rowOf).sort((a, b) => compareValues(a.values, b.values));
}

function isMeant(session: NaiveSession, { sessionId, owner, labels = [], sinceMicros }: UsageQuery): boolean {
  return (
    (sessionId === undefined || session.sessionId === sessionId) &&
    (owner === undefined || (session.owner ?? "") === owner) &&
    labels.every((label) => labelTexts(session.labels).includes(label)) &&
    (sessionId !== undefined || sinceMicros === undefined || session.updateTimeMicros >= sinceMicros - DAY_MICROS)
  );
}

function isCounted(micros: number, { model }: Usage, { sinceMicros, untilMicros, ...query }: UsageQuery): boolean {
  const isInTime = micros >= (sinceMicros ?? -Infinity) && micros < (untilMicros ?? Infinity);
  return isInTime && (query.model === undefined || query.model === model);
}

function groupValue(group: UsageGroup, session: NaiveSession, { timestampMicros, usage }: NaiveMessage): string | null {
  switch (group.by) {
    case "day":
      return new Date(Math.floor(timestampMicros / 1000)).toISOString().slice(0, 10);
    case "model":
    case "provider":
      return usage?.[group.by] ?? "";
    case "owner":
      return session.owner ?? "";
    case "session":
      return session.sessionId;
    case "label":
      return session.labels[group.key] ?? null;
    case "tool":
      throw new Error("The naive model counts no tools");
  }
}

function rowOf({ values, usages }: { values: GroupValues; usages: readonly Usage[] }): UsageRow {
  const durations = usages.flatMap(({ durationMicros }) => durationMicros ?? []).sort((a, b) => a - b);
  const percentile = (share: number) => durations[Math.ceil(durations.length * share) - 1];
  return {
    ...usages.map(sumsOf).reduce(plusUsage, NO_USAGE),
    values,
    durationP50Micros: percentile(0.5),
    durationP95Micros: percentile(0.95),
    failedCalls: 0,
  };
}
