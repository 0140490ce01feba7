export type TicketScope = "read" | "write";

/** What a ticket says of itself. The page believes it only in what it shows; the server checks every call. */
export interface Ticket {
  /** The session that it opens. */
  readonly sessionId: string;
  readonly scope: TicketScope;
  /** For whom its readers speak; absent when they may say any name. */
  readonly owner?: string;
  /** When it ends, in RFC 3339 as all times of the API. */
  readonly expireTime: string;
}

/** The ticket in an address such as `#/t/<ticket>?at=3`. */
export function ticketIn(hash: string): string | undefined {
  return /^#\/t\/([^?]*)/.exec(hash)?.[1];
}

/**
 * The ticket that was in the address when the page was loaded. The page then shows one session, and sends the ticket in
 * place of the key. Another ticket, or none, loads the page again, so that nothing of one is ever asked for with the
 * other.
 */
export const ticketText = ticketIn(location.hash);

/** What that ticket says; undefined without one, and when it cannot be read. */
export const ticket = ticketText === undefined ? undefined : readTicket(ticketText);

/** Whether the page offers to write: always without a ticket, because only the service knows what a key permits. */
export const canWrite = ticketText === undefined || ticket?.scope === "write";

/** Reads the claims of a ticket, which is `spt_` and a JWS in its compact form. */
function readTicket(text: string): Ticket | undefined {
  const payload = /^spt_[\w-]+\.([\w-]+)\.[\w-]+$/.exec(text)?.[1];
  if (payload === undefined) return undefined;
  try {
    const bytes = Uint8Array.from(atob(payload.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    const { session_id: sessionId, scope, owner, exp } = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof sessionId !== "string" || (scope !== "read" && scope !== "write")) return undefined;
    const spokenFor = typeof owner === "string" ? { owner } : {};
    return { sessionId, scope, ...spokenFor, expireTime: new Date(exp * 1000).toISOString() };
  } catch {
    return undefined;
  }
}
