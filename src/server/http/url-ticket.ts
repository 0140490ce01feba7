import { invalidArgument } from "../../api/api-error.js";
import type { HttpRequest } from "./exchange.js";

/** The parameter of the query that holds a ticket. */
const NAME = "ticket";

const TICKETS = Symbol("tickets of the URL");

type TicketRequest = HttpRequest & { [TICKETS]?: readonly string[] };

/**
 * Takes tickets out of the URL of a request, before anything else reads it. So no front takes one for a field of its
 * own, and none is in a text that quotes the URL.
 */
export function takeTickets(request: TicketRequest): void {
  const { url = "" } = request;
  const start = url.indexOf("?");
  // A name may be written with percent signs.
  if (start < 0 || !/ticket|%/i.test(url.slice(start))) return;
  const pairs = url.slice(start + 1).split("&");
  const kept = pairs.filter((pair) => !isTicket(pair));
  if (kept.length === pairs.length) return;
  request[TICKETS] = pairs.filter(isTicket).map((pair) => decode(textAfter(pair)));
  request.url = url.slice(0, start) + (kept.length === 0 ? "" : `?${kept.join("&")}`);
}

/**
 * The ticket that was in the URL. Throws `invalid_argument` for a request that may have none there, or that does not
 * say which credential counts.
 */
export function ticketOf(request: TicketRequest): string | undefined {
  const tickets = request[TICKETS];
  if (tickets === undefined) return undefined;
  if (request.method !== "GET" && request.method !== "HEAD") {
    throw invalidArgument("Only GET may have a ticket in the URL; send it as Authorization: Bearer <ticket>");
  }
  if (tickets.length > 1) throw invalidArgument("The URL must have one ticket");
  if (request.headers.authorization !== undefined) {
    throw invalidArgument("A request with a ticket in the URL must have no Authorization header");
  }
  return tickets[0];
}

function isTicket(pair: string): boolean {
  return decode(pair.split("=", 1)[0]!) === NAME;
}

function textAfter(pair: string): string {
  const end = pair.indexOf("=");
  return end < 0 ? "" : pair.slice(end + 1);
}

/** What is malformed stays as it is, and then is neither the name nor a ticket. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
