import { checkOwner } from "./access.js";
import { invalidArgument } from "./errors.js";
import { checkLabels } from "./labels.js";
import type { Limits } from "./limits.js";
import type { NewSession, SessionChange } from "./session.js";
import { checkBytes, checkOptionalId, checkText } from "./validate.js";
import { checkMetadata } from "./validate-struct.js";

export function checkNewSession(session: NewSession, limits: Limits): void {
  checkOptionalId("session_id", session.sessionId, limits);
  checkOptionalId("parent_id", session.parentId, limits);
  checkTitle(session.title, limits);
  checkMetadata("metadata", session.metadata, limits);
  checkLabels("labels", session.labels, limits);
  checkOwner("owner", session.owner);
  checkExpireTime(session.expireTimeMicros);
}

export function checkSessionChange(change: SessionChange, limits: Limits): void {
  checkTitle(change.title, limits);
  checkMetadata("metadata", change.metadata, limits);
  checkLabels("labels", change.labels, limits);
  checkOwner("owner", change.owner);
  checkExpireTime(change.expireTimeMicros);
}

function checkExpireTime(micros: number | null | undefined): void {
  if (micros === undefined || micros === null || Number.isSafeInteger(micros)) return;
  throw invalidArgument(`expire_time is ${micros}; it must be whole microseconds since 1970`);
}

export function checkTitle(title: string | undefined, limits: Limits): void {
  if (title === undefined) return;
  checkText("title", title);
  checkBytes("title", Buffer.byteLength(title), limits.titleBytes);
}
