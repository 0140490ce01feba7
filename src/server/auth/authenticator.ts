import type { IncomingHttpHeaders } from "node:http2";
import { Code } from "@connectrpc/connect";
import { ApiError } from "../../api/api-error.js";
import type { Principal, RequestFacts } from "./principal.js";

const HEADER = "authorization";

/** Finds out whose key a request carries. */
export interface Authenticator {
  /** Rejects with `unauthenticated`; never reveals why, or the key. */
  authenticate(request: RequestFacts): Promise<Principal>;
  /** The principal of every caller, where no keys are needed. */
  readonly everyone?: Principal | undefined;
  /** Reads files again, whether or not they have changed. */
  reload(): void;
  /** Stops watching files. */
  close(): void;
}

/**
 * One kind of credential, given after `Bearer `. Resolves to undefined when the credential is not one that this kind
 * knows.
 */
export interface CredentialChecker {
  check(credential: string, peer: string): Promise<Principal | undefined>;
  reload(): void;
  close(): void;
}

const LOCAL: Principal = { name: "local", namespace: "default", scope: "admin" };

/** Lets everyone do everything. Only for servers that no other machine can reach. */
export const openAuthenticator: Authenticator = {
  everyone: LOCAL,
  authenticate: () => Promise.resolve(LOCAL),
  reload: () => undefined,
  close: () => undefined,
};

/** Asks one checker after another. */
export class BearerAuthenticator implements Authenticator {
  readonly #checkers: readonly CredentialChecker[];

  constructor(checkers: readonly CredentialChecker[]) {
    this.#checkers = checkers;
  }

  async authenticate(request: RequestFacts): Promise<Principal> {
    const credential = bearerCredential(request.header(HEADER));
    const peer = request.peer();
    for (const checker of this.#checkers) {
      const principal = await checker.check(credential, peer);
      if (principal !== undefined) return principal;
    }
    throw new ApiError(Code.Unauthenticated, "The key is not known, or no longer valid");
  }

  reload(): void {
    for (const checker of this.#checkers) checker.reload();
  }

  close(): void {
    for (const checker of this.#checkers) checker.close();
  }
}

function bearerCredential(authorization: string | undefined): string {
  if (authorization === undefined)
    throw new ApiError(Code.Unauthenticated, "A key is needed: Authorization: Bearer <key>");
  const match = /^Bearer +([^\s]+) *$/i.exec(authorization);
  if (match === null)
    throw new ApiError(Code.Unauthenticated, "A request must have one Authorization header: Bearer <key>");
  return match[1]!;
}

/**
 * Joins several `Authorization` headers of an HTTP/2 request, so that they are refused. By itself Node takes the first
 * one, but a proxy may have decided by another.
 */
export function joinAuthorization(headers: IncomingHttpHeaders, rawHeaders: readonly string[]): void {
  let joined: string | undefined;
  // HTTP/2 allows only lower case.
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i] === HEADER) joined = joined === undefined ? rawHeaders[i + 1] : `${joined}, ${rawHeaders[i + 1]}`;
  }
  if (joined !== headers[HEADER]) headers[HEADER] = joined;
}
