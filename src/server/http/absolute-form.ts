import type { IncomingMessage } from "node:http";

const ABSOLUTE = /^https?:\/\/([^/?#]*)(.*)$/is;

/**
 * Makes of a target in absolute form, as proxies get it, the one that everything else reads. Its host counts, as RFC
 * 9112 demands, and not that of the `Host` header.
 */
export function readAbsoluteForm(request: IncomingMessage): void {
  const { url = "", headers } = request;
  if (url.startsWith("/")) return;
  const [, authority, rest] = ABSOLUTE.exec(url) ?? [];
  if (authority === undefined || rest === undefined) return;
  headers.host = authority;
  request.url = rest.startsWith("/") ? rest : `/${rest}`;
}
