import { createHash } from "node:crypto";
import { toJson } from "@bufbuild/protobuf";
import {
  type WatchSessionsResponse,
  WatchSessionsResponseSchema,
} from "../../../gen/sessionpool/v1/session_service_pb.js";
import type { EventBatch } from "./event-batches.js";
import type { WebhookMessage } from "./webhook-endpoint.js";

/**
 * A message that tells of changes since the place `from`. A receiver drops what has an id that it knows, so the id says
 * exactly which events they are: after a restart, the same place may be followed by more of them.
 */
export function changedMessage(namespace: string, from: string, { events, resumeToken }: EventBatch): WebhookMessage {
  const told = events.map(jsonOf);
  const id = idOf(["changed", namespace, from, told]);
  return { id, body: bodyOf("sessions.changed", { namespace, events: told, resumeToken }) };
}

/** A message that asks the receiver to list the sessions, because it is not told what happened before `resumeToken`. */
export function resetMessage(namespace: string, resumeToken: string): WebhookMessage {
  return { id: idOf(["reset", namespace, resumeToken]), body: bodyOf("sessions.reset", { namespace, resumeToken }) };
}

/** The event as REST writes it. One token for the whole message is enough. */
function jsonOf(event: WatchSessionsResponse): object {
  const { resumeToken: _, ...told } = toJson(WatchSessionsResponseSchema, event, { alwaysEmitImplicit: true }) as {
    readonly resumeToken?: string;
  };
  return told;
}

/** Has no full stop, by which the parts of what is signed are separated. */
function idOf(content: readonly unknown[]): string {
  const digest = createHash("sha256").update(JSON.stringify(content)).digest("base64url");
  return `msg_${digest.slice(0, 27)}`;
}

function bodyOf(type: string, data: object): string {
  return JSON.stringify({ type, timestamp: new Date().toISOString(), data });
}
