import { DomainError } from "../domain/errors.js";
import type { Principal } from "./front-call.js";

/** Finds out whose key a request carries. */
export interface Authenticator {
  /** `authorization` is the header's value. Rejects with `unauthenticated`; never tells why, or the key. */
  authenticate(authorization: string | undefined): Promise<Principal>;
  /** Who everyone is, where no keys are asked for. */
  readonly everyone?: Promise<Principal> | undefined;
  /** Ends watching files. */
  close(): void;
}

/** One kind of credential, after `Bearer `. Resolves to undefined when it is not one that this kind knows. */
export interface CredentialChecker {
  check(credential: string): Promise<Principal | undefined>;
  close(): void;
}

const LOCAL: Principal = { name: "local", namespace: "default", scope: "admin" };

/** Everyone may do everything: only for servers that no other machine reaches. */
export const openAuthenticator: Authenticator = {
  everyone: Promise.resolve(LOCAL),
  authenticate: () => Promise.resolve(LOCAL),
  close: () => undefined,
};

/** Asks one checker after the other. */
export class BearerAuthenticator implements Authenticator {
  readonly #checkers: readonly CredentialChecker[];

  constructor(checkers: readonly CredentialChecker[]) {
    this.#checkers = checkers;
  }

  async authenticate(authorization: string | undefined): Promise<Principal> {
    const credential = bearerCredential(authorization);
    for (const checker of this.#checkers) {
      const principal = await checker.check(credential);
      if (principal !== undefined) return principal;
    }
    throw new DomainError("unauthenticated", "The key is not known, or no longer valid");
  }

  close(): void {
    for (const checker of this.#checkers) checker.close();
  }
}

function bearerCredential(authorization: string | undefined): string {
  if (authorization === undefined)
    throw new DomainError("unauthenticated", "A key is needed: Authorization: Bearer <key>");
  const match = /^Bearer +([^\s]+) *$/i.exec(authorization);
  if (match === null) throw new DomainError("unauthenticated", "The Authorization header must be: Bearer <key>");
  return match[1]!;
}
