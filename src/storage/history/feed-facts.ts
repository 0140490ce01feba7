import { createHash } from "node:crypto";
import { labelTexts } from "../../domain/labels.js";
import type { Past } from "./feed-table.js";
import type { NextRecord } from "./session-record.js";

/** Whether replacing one record by another changes what the feed tells of a session. */
export function changesFeed(before: NextRecord | undefined, after: NextRecord): boolean {
  if (after.deleted) return before?.deleted === false;
  if (before === undefined || before.deleted) return true;
  return (
    before.sessionRevision !== after.sessionRevision ||
    before.updateTimeMicros !== after.updateTimeMicros ||
    before.log !== after.log
  );
}

/** Whether a change needs a row that says what the session had before, and which; null when it needs none. */
export function departureOf(before: NextRecord | undefined, after: NextRecord): "deleted" | "left" | null {
  if (before === undefined || before.deleted) return null;
  if (after.deleted) return "deleted";
  return before.owner === after.owner && hasSameLabels(before, after) ? null : "left";
}

function hasSameLabels({ labels: before }: NextRecord, { labels: after }: NextRecord): boolean {
  return before === after || JSON.stringify(labelTexts(before)) === JSON.stringify(labelTexts(after));
}

export function digestOf(uid: string, text: string): string {
  return createHash("sha256").update(`${uid}\n${text}`).digest("hex").slice(0, 24);
}

/** What a session has, as the feed keeps it. `digest` is that of the store. */
export function pastOf({ uid, owner, labels }: NextRecord, digest = digestOf): Past {
  return {
    owner: owner === undefined || owner === "" ? "" : digest(uid, owner),
    labels: labelTexts(labels).map((text) => digest(uid, text)),
  };
}
