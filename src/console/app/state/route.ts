import { signal } from "@preact/signals";
import { baseAddress } from "../api/base.js";
import { ticket, ticketIn, ticketText } from "../api/ticket.js";

/** What the address names; everything after `#`. An address with a ticket names the session that the ticket opens. */
export type Route =
  | { readonly view: "home" }
  | { readonly view: "todos" }
  | { readonly view: "compare"; readonly sessionIds: readonly string[] }
  /** The filters of the page, as its address has them. */
  | { readonly view: "search"; readonly query: string }
  | { readonly view: "sessions"; readonly query: string }
  | { readonly view: "usage"; readonly query: string }
  | { readonly view: "bin" }
  | {
      readonly view: "session";
      readonly sessionId: string;
      /** Position of the selected message, or of the first on the screen; the end when absent. */
      readonly at?: number;
      /** A permalink names a message, whatever its position has become. */
      readonly messageId?: string;
    };

function parseRoute(hash: string): Route {
  // The page is about to be loaded again.
  if (ticketIn(hash) !== ticketText) return { view: "home" };
  const [path = "", search = ""] = hash.replace(/^#/, "").split("?");
  if (path === "/todos") return { view: "todos" };
  if (path === "/search" || path === "/sessions" || path === "/usage") {
    return { view: path.slice(1) as "search" | "sessions" | "usage", query: search };
  }
  if (path === "/bin") return { view: "bin" };
  if (path === "/compare") return { view: "compare", sessionIds: new URLSearchParams(search).getAll("s") };
  const encoded = /^\/session\/([^/]+)$/.exec(path)?.[1];
  const sessionId = ticketText === undefined ? encoded && decoded(encoded) : ticket?.sessionId;
  if (!sessionId) return { view: "home" };
  const query = new URLSearchParams(search);
  const messageId = query.get("m");
  if (messageId) return { view: "session", sessionId, messageId };
  const at = query.get("at");
  return at !== null && /^\d{1,12}$/.test(at)
    ? { view: "session", sessionId, at: Number(at) }
    : { view: "session", sessionId };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

export function linkTo(route: Route): string {
  if (route.view === "home") return "#/";
  if (route.view === "todos") return "#/todos";
  if (route.view === "bin") return "#/bin";
  if (route.view === "search" || route.view === "sessions" || route.view === "usage") {
    return `#/${route.view}${route.query && `?${route.query}`}`;
  }
  if (route.view === "compare")
    return `#/compare?${new URLSearchParams(route.sessionIds.map((sessionId) => ["s", sessionId]))}`;
  const path = ticketText === undefined ? `#/session/${encodeURIComponent(route.sessionId)}` : `#/t/${ticketText}`;
  if (route.messageId !== undefined) return `${path}?m=${encodeURIComponent(route.messageId)}`;
  return route.at === undefined ? path : `${path}?at=${route.at}`;
}

/** Names what a route shows. It stays the same while the reader scrolls or types. */
function subjectOf(route: Route): string {
  return route.view === "session" ? sessionLink(route.sessionId) : route.view;
}

export function sessionLink(sessionId: string): string {
  return linkTo({ view: "session", sessionId });
}

export const route = signal<Route>(parseRoute(location.hash));
/** The address that was read or written last. */
let known = location.hash;

addEventListener("hashchange", () => {
  known = location.hash;
  if (ticketIn(location.hash) === ticketText) route.value = parseRoute(location.hash);
  else location.reload();
});

/** The address that opens one session with this ticket. What follows `#` is never sent to a server. */
export function linkByTicket(made: string): string {
  return new URL(`#/t/${made}`, baseAddress()).href;
}

export function go(to: Route): void {
  location.hash = linkTo(to);
}

/**
 * Keeps the address in step with scrolling. This adds nothing to the browser's history and loads nothing again. Once
 * the address names something else, nothing happens: the page is about to go there. The browser tells of a link that
 * was clicked a little later, so an address that nobody has read yet counts, even of the same session.
 */
export function noteWhere(to: Route): void {
  if (location.hash !== known || subjectOf(parseRoute(known)) !== subjectOf(to)) return;
  history.replaceState(history.state, "", linkTo(to));
  known = location.hash;
}
