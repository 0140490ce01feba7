import type { IncomingHttpHeaders } from "node:http2";
import { Code } from "@connectrpc/connect";
import { ApiError } from "../../api/api-error.js";
import type { Principal, RequestFacts } from "./principal.js";

const HEADER = "authorization";

/** What every ticket begins with, and no key or token. */
export const TICKET_PREFIX = "spt_";

/** An `Authorization` header that carries what begins like a ticket. */
const TICKET_HEADER = new RegExp(`^Bearer +${TICKET_PREFIX}`, "i");

/** Finds out whose key or ticket a request carries. */
export interface Authenticator {
  /** Rejects with `unauthenticated`; never reveals why, or the key. */
  authenticate(request: RequestFacts): Promise<Principal>;
  /** The principal of every caller without a ticket, where no keys are needed. */
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

/** What a caller without a ticket may do where no keys are needed. */
const LOCAL: Principal = { name: "local", namespace: "default", scope: "admin" };

export interface Checkers {
  /** Those of keys and tokens, each asked after the one before. None means that no keys are needed. */
  readonly keys: readonly CredentialChecker[];
  /** Absent where no ticket is valid. */
  readonly tickets?: CredentialChecker | undefined;
}

/**
 * Checks the key, the token or the ticket of a request. Without checkers of keys, everyone may do everything, which is
 * only for servers that no other machine can reach; but a caller with a ticket may do no more than the ticket permits,
 * and nothing with one that is not valid.
 */
export class BearerAuthenticator implements Authenticator {
  readonly everyone: Principal | undefined;
  readonly #keys: readonly CredentialChecker[];
  readonly #tickets: readonly CredentialChecker[];

  constructor({ keys, tickets }: Checkers) {
    this.everyone = keys.length === 0 ? LOCAL : undefined;
    this.#keys = keys;
    this.#tickets = tickets === undefined ? [] : [tickets];
  }

  async authenticate(request: RequestFacts): Promise<Principal> {
    if (this.everyone !== undefined && !hasTicket(request)) return this.everyone;
    const credential = request.ticket ?? bearerCredential(request.header(HEADER));
    const isTicket = credential.startsWith(TICKET_PREFIX);
    const peer = request.peer();
    // A key in the URL would end up in logs and histories.
    const checkers = isTicket ? this.#tickets : request.ticket === undefined ? this.#keys : [];
    for (const checker of checkers) {
      const principal = await checker.check(credential, peer);
      if (principal !== undefined) return principal;
    }
    const what = isTicket || request.ticket !== undefined ? "ticket" : "key";
    throw new ApiError(Code.Unauthenticated, `The ${what} is not known, or no longer valid`);
  }

  reload(): void {
    for (const checker of [...this.#keys, ...this.#tickets]) checker.reload();
  }

  close(): void {
    for (const checker of [...this.#keys, ...this.#tickets]) checker.close();
  }
}

/** Whether a request carries what begins like a ticket, valid or not. */
export function hasTicket(request: RequestFacts): boolean {
  return request.ticket !== undefined || TICKET_HEADER.test(request.header(HEADER) ?? "");
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
