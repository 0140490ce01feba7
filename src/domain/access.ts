import { DomainError, invalidArgument } from "./errors.js";
import { checkBytes, checkText, hasControl } from "./validate.js";

/** What a caller sees of a namespace: the sessions of one owner, or the one session that a ticket opens. */
export type Access = OwnerAccess | TicketAccess;

/** Sees and changes the sessions of this owner. Everything else is `not_found`. */
export interface OwnerAccess {
  readonly owner: string;
}

/** Sees one session, as long as its tickets are not revoked. */
export interface TicketAccess {
  readonly ticket: TicketMark & {
    readonly sessionId: string;
    /** The owner that the maker of the ticket was bound to. */
    readonly owner?: string | undefined;
  };
}

/** What a ticket holds of its session. The ticket is valid while the session still has the same. */
export interface TicketMark {
  /** Identifies the session permanently, because its id may be used again. */
  readonly uid: string;
  /** How often the tickets of the session have been revoked. */
  readonly generation: number;
}

/** Whatever is limited by the access of a caller. */
interface Limited {
  /** Absent for a caller that sees all sessions. */
  readonly access?: Access | undefined;
}

/** What decides who may see a session. */
interface Guarded {
  readonly sessionId: string;
  readonly uid: string;
  /** Absent for none. */
  readonly owner?: string | undefined;
  /** Absent for 0. */
  readonly ticketGeneration?: number | undefined;
}

/** The most bytes of an owner. */
export const MOST_OWNER_BYTES = 128;

/** The owner that a caller is bound to; undefined for all other callers. */
export function boundOwner(caller: Limited | undefined): string | undefined {
  const access = caller?.access;
  return access !== undefined && "owner" in access ? access.owner : undefined;
}

/** The owner that a caller speaks for: the one that it is bound to, or that the maker of its ticket was bound to. */
export function spokenFor(caller: Limited | undefined): string | undefined {
  const access = caller?.access;
  return access !== undefined && "ticket" in access ? access.ticket.owner : boundOwner(caller);
}

/** Whether everybody who could see a session in one state still can in the other. */
export function isVisibleToSame(a: Guarded, b: Guarded): boolean {
  return a.owner === b.owner && a.ticketGeneration === b.ticketGeneration;
}

/** Whether the caller may see this session. `unauthenticated`: the caller's ticket was for it and has been revoked. */
export function permits(call: Limited | undefined, session: Guarded): boolean {
  const access = call?.access;
  if (access === undefined) return true;
  if ("owner" in access) return session.owner === access.owner;
  const { sessionId, uid, generation } = access.ticket;
  if (session.sessionId !== sessionId) return false;
  if (session.uid === uid && (session.ticketGeneration ?? 0) === generation) return true;
  throw new DomainError("unauthenticated", "The ticket is no longer valid");
}

/**
 * Whether something remembered of a session shows that the caller may see it. That is so for the session's owner,
 * because a change of the owner replaces what writes depend on. It is not so for a ticket, which may have been revoked
 * since.
 */
export function permitsRemembered(call: Limited | undefined, session: Guarded): boolean {
  const access = call?.access;
  // Rule: remembered-admits-owners.
  return access === undefined || ("owner" in access && session.owner === access.owner);
}

/**
 * The owner that a session gets which this caller makes with this owner. `permission_denied`: the caller is bound to
 * another one, or has a ticket.
 */
export function ownerOfNew(call: Limited | undefined, owner: string | undefined): string | undefined {
  const access = call?.access;
  if (access === undefined) return owner || undefined;
  if (!("owner" in access)) throw new DomainError("permission_denied", "A ticket does not permit making sessions");
  checkOwnerChange(call, owner || undefined);
  return access.owner;
}

/** Throws `permission_denied` when the caller may not give a session this owner. Undefined means no change. */
export function checkOwnerChange(call: Limited | undefined, owner: string | undefined): void {
  const access = call?.access;
  if (owner === undefined || access === undefined || ("owner" in access && access.owner === owner)) return;
  throw new DomainError("permission_denied", "owner is not the one that the caller is bound to");
}

/** Throws `permission_denied` when the caller's access is limited, because erasing reaches the sessions of all. */
export function checkMayErase(call: Limited): void {
  if (call.access === undefined) return;
  throw new DomainError("permission_denied", "Erasing reaches the sessions of all, beyond those of the caller");
}

/**
 * The filter by owner for a list of sessions for which the caller asks with this one; null when the list holds no
 * session that the caller may see. `permission_denied`: the caller has a ticket.
 */
export function ownersSeen(call: Limited, owner: string | undefined): { readonly owner: string | undefined } | null {
  const { access } = call;
  if (access === undefined) return { owner };
  if (!("owner" in access)) throw new DomainError("permission_denied", "A ticket opens one session, and no lists");
  return owner === undefined || owner === access.owner ? access : null;
}

/** Checks an owner; empty means none. */
export function checkOwner(field: string, owner: string | undefined): void {
  if (owner === undefined) return;
  checkText(field, owner);
  checkBytes(field, Buffer.byteLength(owner), MOST_OWNER_BYTES);
  if (hasControl(owner)) throw invalidArgument(`${field} must not contain control characters`);
}
