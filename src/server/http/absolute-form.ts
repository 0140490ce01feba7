import type { IncomingMessage } from "node:http";

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
