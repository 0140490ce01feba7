/** What a key may do; each includes the ones before it. */
export type Scope = "read" | "write" | "admin";

/** Who calls: made from the headers of a request by `Caller.authenticate`. */
export interface Principal {
  /** Name of the key, for logs; never the key. */
  readonly name: string;
  /** What the caller sees: two namespaces share nothing. */
  readonly namespace: string;
  readonly scope: Scope;
  /** Milliseconds since 1970 at which the credential expires. */
  readonly expiresMs?: number | undefined;
  /** Aborted when the credential is withdrawn. */
  readonly revoked?: AbortSignal | undefined;
}

/** What authentication and log lines look up of a request. */
export interface RequestFacts {
  /** Takes names in lower case. */
  header(name: string): string | undefined;
  /** Address of the client, or of the proxy that it came by, without a port. */
  peer(): string;
}
