import { Code } from "@connectrpc/connect";
import { type HostCheck, notServed } from "../hosts.js";
import type { HttpRequest } from "./exchange.js";
import { HttpProblem } from "./problem.js";

const AUTHORITY = /^(?:\[[0-9A-Fa-f:.]+\]|[^\s/?#@:[\]%\\<>^`{|}]+)(?::(\d{1,5}))?$/;

/** The host that a request names, with the port if it names one. */
export function authorityOf(request: HttpRequest): string | undefined {
  return "authority" in request ? request.authority : request.headers.host;
}

/**
 * Throws unless the request names a host that is served. Without a valid one, connect-node and any other code that
 * makes a URL of it would throw, too.
 */
export function makeAuthorityCheck(isServed: HostCheck): (request: HttpRequest) => void {
  /** Clients send the same value all the time. */
  let lastGood: string | undefined;
  return (request) => {
    const authority = authorityOf(request);
    if (authority !== undefined && authority === lastGood) return;
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
