import type { JsonObject } from "../../../domain/json.js";
import type { Labels } from "../../../domain/labels.js";
import { checkLabels } from "../../../domain/labels.js";
import type { Limits } from "../../../domain/limits.js";
import type { ForeignSession } from "../readers/reader.js";
import { cutText } from "./cut-text.js";
import { mendMetadata } from "./mend-message.js";
import { type OnMend, storableText } from "./storable.js";

/** What a session says of itself, in a form that the service accepts. */
export interface MendedFields {
  readonly title: string;
  readonly labels?: Labels | undefined;
  readonly metadata?: JsonObject | undefined;
  /** Fields of metadata that were too large; the first message takes them. */
  readonly moved?: JsonObject | undefined;
}

export function mendFields(session: ForeignSession, limits: Limits, onMend: OnMend): MendedFields {
  const full = storableText(session.title ?? "", onMend);
  const title = mendTitle(full, limits.titleBytes);
  if (title !== full) onMend("titles cut; metadata has the whole one");
  const { fit, rest } = mendLabels(session.labels ?? {}, limits);
  if (Object.keys(rest).length > 0) onMend("labels that do not fit, which are metadata now");
  const extra = { ...(title !== full && { title: full }), ...(Object.keys(rest).length > 0 && { labels: rest }) };
  const { kept, moved } = mendMetadata({ ...session.metadata, ...extra }, limits, onMend);
  return {
    title,
    ...(Object.keys(fit).length > 0 && { labels: fit }),
    ...(Object.keys(kept).length > 0 && { metadata: kept }),
    ...(moved && { moved }),
  };
}

function mendTitle(title: string, titleBytes: number): string {
  if (Buffer.byteLength(title) <= titleBytes) return title;
  const end = titleBytes > 3 ? "…" : "";
  return `${cutText(title, titleBytes - Buffer.byteLength(end))}${end}`;
}

function mendLabels(labels: Labels, limits: Limits): { readonly fit: Labels; readonly rest: Labels } {
  const fit: [string, string][] = [];
  const rest: [string, string][] = [];
  for (const [key, value] of Object.entries(labels)) {
    const fits = fit.length < limits.labels && isLabel(key, value, limits);
    (fits ? fit : rest).push([key, value]);
  }
  return { fit: Object.fromEntries(fit), rest: Object.fromEntries(rest) };
}

function isLabel(key: string, value: string, limits: Limits): boolean {
  try {
    checkLabels("labels", Object.fromEntries([[key, value]]), limits);
    return true;
  } catch {
    return false;
  }
}
