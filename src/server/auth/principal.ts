import type { Scope } from "../../api/api-method.js";
import type { Access } from "../../domain/access.js";

/** Who is calling. `CallPipeline.authenticate` makes it from the headers of a request, or the ticket in its URL. */
export interface Principal {
  /** The name of the key or ticket, for logs and limits; never the key or ticket itself. */
  readonly name: string;
  /**
   * Under what its load and its quotas are counted; the name when absent. It differs from the name of a key for tokens,
   * whose users may choose their names.
   */
  readonly id?: string | undefined;
  /** The namespace that the caller sees. Namespaces share nothing. */
  readonly namespace: string;
  readonly scope: Scope;
  /** The owner that the caller is bound to, or the ticket that it has; absent for callers that see the namespace. */
  readonly access?: Access | undefined;
  /** When the credential expires, in milliseconds since 1970. */
  readonly expiresMs?: number | undefined;
  /** Aborted when the credential is revoked. */
  readonly revoked?: AbortSignal | undefined;
}

/** Under what the load and the quotas of a caller are counted. */
export function countedAs({ id, name }: Principal): string {
  return id ?? name;
}

/** Whether the caller has a ticket and no key. */
export function isOfTicket({ access }: Principal): boolean {
  return access !== undefined && "ticket" in access;
}

/** The facts about a request that authentication and log lines need. */
export interface RequestFacts {
  /** The id that names the request in log lines and answers. */
  readonly requestId: string;
  /** The ticket in the URL. */
  readonly ticket?: string | undefined;
  /** Takes the name in lower case. */
  header(name: string): string | undefined;
  /** The address of the client, or of the proxy it came through, without a port. */
  peer(): string;
}
