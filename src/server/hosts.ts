import { isLoopback } from "../config.js";

/** Whether the host of a request, with or without a port, is one that is served. */
export type HostCheck = (authority: string) => boolean;

/**
 * A web page can make the name of its own host resolve to this machine (DNS rebinding); its requests then look to the browser like those
 * of the page's own site, and only the host they name tells them apart. Without keys nothing else would stop them, so only loopback
 * addresses and `allowed` hosts are served. With keys every host is, unless some are given.
 */
export function makeHostCheck({ allowed, isKeyed }: HostRules): HostCheck {
  if (isKeyed && allowed.length === 0) return () => true;
  const hosts = new Set(allowed.map(hostOf));
  return (authority) => {
    const host = hostOf(authority);
    return isLoopback(host) || hosts.has(host);
  };
}

export interface HostRules {
  readonly allowed: readonly string[];
  readonly isKeyed: boolean;
}

export function notServed(authority: string): string {
  return `The host ${JSON.stringify(authority)} is not served; the server serves others than localhost by --allowed-hosts`;
}

/** Without the port, brackets and the dot of a name that is complete. */
function hostOf(authority: string): string {
  const host = authority.replace(/:\d*$/, "").toLowerCase();
  return host.startsWith("[") ? host.slice(1, -1) : host.replace(/\.$/, "");
}
