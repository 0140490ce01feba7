import type { IncomingMessage } from "node:http";
import { Code } from "@connectrpc/connect";
import type { HttpRequest } from "./exchange.js";
import { type HostCheck, notServed } from "./hosts.js";
import { HttpProblem } from "./problem.js";

const AUTHORITY = /^(?:\[[0-9A-Fa-f:.]+\]|[^\s/?#@:[\]%\\<>^`{|}]+)(?::(\d{1,5}))?$/;

/** The host that a request names, with the port if it names one. */
export function authorityOf(request: HttpRequest): string | undefined {
  return "authority" in request ? request.authority : request.headers.host;
}

/** `isHarmless`: whether it does not matter which host the client means, as with probes. */
type AuthorityCheck = (request: HttpRequest, isHarmless: boolean) => void;

/**
 * Throws unless the request names a host that is served. HTTP/1.0 needs no host, and probes of HAProxy name none. So a
 * request without one is served if it is harmless, or if every host is served.
 */
export function makeAuthorityCheck(isServed: HostCheck): AuthorityCheck {
  /** Clients send the same value all the time. */
  let lastGood: string | undefined;
  return (request, isHarmless) => {
    // An empty header names no host either.
    const authority = authorityOf(request) || undefined;
    if (authority !== undefined && authority === lastGood) return;
    if (authority === undefined && request.httpVersion === "1.0" && (isHarmless || isServed(undefined))) return;
    if (authority === undefined || !isValid(authority)) {
      throw new HttpProblem(Code.InvalidArgument, "The request must name one valid host");
    }
    if (!isServed(authority)) {
      throw new HttpProblem(Code.PermissionDenied, notServed(authority), { status: 421 });
    }
    lastGood = authority;
  };
}

function isValid(authority: string): boolean {
  const match = AUTHORITY.exec(authority);
  return match !== null && Number(match[1] ?? 0) <= 65_535;
}

const ABSOLUTE = /^https?:\/\/([^/?#]*)(.*)$/is;

/**
 * Turns a target in absolute form, as proxies receive it, into the origin form that all other code reads. The host of
 * the target replaces the `Host` header, as RFC 9112 demands.
 */
export function readAbsoluteForm(request: IncomingMessage): void {
  const { url = "", headers } = request;
  if (url.startsWith("/")) return;
  const [, authority, rest] = ABSOLUTE.exec(url) ?? [];
  if (authority === undefined || rest === undefined) return;
  // Several Host headers, which Node has joined, are left to be refused.
  if (!headers.host?.includes(", ")) headers.host = authority;
  request.url = rest.startsWith("/") ? rest : `/${rest}`;
}
