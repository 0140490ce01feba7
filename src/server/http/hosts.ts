import { isLoopback } from "../../config/config.js";

/**
 * Whether the server serves the host of a request, given with or without a port. Undefined for a request that names
 * none, as HTTP/1.0 allows.
 */
export type HostCheck = (authority: string | undefined) => boolean;

/**
 * Protects against DNS rebinding. A web page can make the name of its own host resolve to this machine. To the browser
 * its requests then look like those of the page's own site, and only the host that they name gives them away. Without
 * keys, nothing else would stop them, so only loopback addresses and `allowed` hosts are served. With keys, every host
 * is served unless some are given. A request that names no host is served where every host is: browsers always name
 * one, but a proxy in front of the server may have lost the name.
 */
export function makeHostCheck({ allowed, isKeyed }: HostRules): HostCheck {
  if (isKeyed && allowed.length === 0) return () => true;
  const hosts = new Set(allowed.map(hostOf));
  return (authority) => {
    if (authority === undefined) return false;
    const host = hostOf(authority);
    return isLoopback(host) || hosts.has(host);
  };
}

export interface HostRules {
  readonly allowed: readonly string[];
  readonly isKeyed: boolean;
}

export function notServed(authority: string): string {
  return `The host ${JSON.stringify(authority)} is not served; use --allowed-hosts to serve hosts besides localhost`;
}

/** The host without port, brackets, or the final dot of a fully qualified name. */
function hostOf(authority: string): string {
  const host = authority.replace(/:\d*$/, "").toLowerCase();
  return host.startsWith("[") ? host.slice(1, -1) : host.replace(/\.$/, "");
}
