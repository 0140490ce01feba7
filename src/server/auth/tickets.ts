import { randomBytes } from "node:crypto";
import { setMaxListeners } from "node:events";
import { readFileSync } from "node:fs";
import { errors, type JWTPayload, jwtVerify, SignJWT } from "jose";
import { isTicketScope, type TicketClaims } from "../../api/api-method.js";
import type { Logger } from "../logging.js";
import { type WatchedFiles, watchFiles } from "../watched-files.js";
import { type CredentialChecker, TICKET_PREFIX } from "./authenticator.js";
import { isNamespace } from "./key-file.js";
import { sha256 } from "./key-hash.js";
import type { Principal } from "./principal.js";
import { readTicketSecrets } from "./ticket-secrets.js";

/** Sets tickets apart from whatever else may be signed with the same secret. */
const TYPE = "session-pool-ticket";
const ALGORITHM = "HS256";
/** How many verified tickets are remembered, so that none is verified again with each call. */
const REMEMBERED = 10_000;
/** The random bytes of the name by which logs and limits know a ticket. */
const NAME_BYTES = 9;

interface Secret {
  readonly text: string;
  readonly key: Uint8Array;
  /** Aborted when the secret is removed from the file. */
  readonly removed: AbortController;
}

type Verified = Principal & { readonly expiresMs: number };

/**
 * Signs and checks tickets with the secrets of a file, read again whenever it changes. The first secret signs, and each
 * one verifies. While the file cannot be used, the previous secrets stay.
 */
export class Tickets implements CredentialChecker {
  readonly #path: string;
  readonly #logger: Logger;
  readonly #watched: WatchedFiles;
  readonly #remembered = new Map<string, Verified>();
  #secrets: readonly Secret[];

  /** Throws an Error with a one-line message when the file cannot be used. */
  constructor(path: string, logger: Logger) {
    this.#path = path;
    this.#logger = logger;
    const failure = "Ticket secret file cannot be used; the secrets from before stay valid until it can";
    this.#watched = watchFiles([path], { read: () => this.#replace(), failure, logger });
    try {
      this.#secrets = readSecrets(path);
    } catch (error) {
      this.#watched.close();
      throw error;
    }
  }

  /** A ticket for what the claims say. */
  async sign({ namespace, sessionId, uid, generation, scope, owner, expiresMs }: TicketClaims): Promise<string> {
    const signed = await new SignJWT({ namespace, session_id: sessionId, uid, generation, scope, owner })
      .setProtectedHeader({ alg: ALGORITHM, typ: TYPE })
      .setExpirationTime(expiresMs / 1000)
      .setJti(randomBytes(NAME_BYTES).toString("base64url"))
      .sign(this.#secrets[0]!.key);
    return TICKET_PREFIX + signed;
  }

  async check(credential: string): Promise<Principal | undefined> {
    if (!isCanonical(credential)) return undefined;
    const id = sha256(credential).toString("base64");
    const remembered = this.#remembered.get(id);
    if (remembered !== undefined && Date.now() < remembered.expiresMs) return remembered;
    const principal = await this.#verify(credential.slice(TICKET_PREFIX.length));
    if (principal !== undefined) this.#remember(id, principal);
    return principal;
  }

  reload(): void {
    this.#watched.reload();
  }

  close(): void {
    this.#watched.close();
  }

  async #verify(signed: string): Promise<Verified | undefined> {
    for (const { key, removed } of this.#secrets) {
      try {
        const { payload } = await jwtVerify(signed, key, {
          algorithms: [ALGORITHM],
          typ: TYPE,
          requiredClaims: ["exp", "jti"],
        });
        // The secret may have been removed meanwhile.
        return removed.signal.aborted ? undefined : principalOf(payload, removed.signal);
      } catch (error) {
        if (error instanceof errors.JWSSignatureVerificationFailed) continue;
        if (!(error instanceof errors.JOSEError)) throw error;
        this.#logger.debug({ reason: error.code }, "Ticket refused");
        return undefined;
      }
    }
    return undefined;
  }

  #remember(id: string, principal: Verified): void {
    if (this.#remembered.size >= REMEMBERED) this.#remembered.delete(this.#remembered.keys().next().value as string);
    this.#remembered.set(id, principal);
  }

  #replace(): void {
    const before = this.#secrets;
    this.#secrets = readSecrets(this.#path, before);
    this.#remembered.clear();
    for (const secret of before) if (!this.#secrets.includes(secret)) secret.removed.abort();
    this.#logger.info({ secrets: this.#secrets.length }, "Ticket secret file read again");
  }
}

/** The secrets of a file. Those that it had before stay the same objects. */
function readSecrets(path: string, before: readonly Secret[] = []): readonly Secret[] {
  let content: string;
  try {
    content = readFileSync(path, "utf8");
  } catch (cause) {
    throw new Error(`Ticket secret file ${path} cannot be read: ${(cause as Error).message}`, { cause });
  }
  const texts = readTicketSecrets(content, `Ticket secret file ${path}`);
  return texts.map((text) => before.find((secret) => secret.text === text) ?? makeSecret(text));
}

function makeSecret(text: string): Secret {
  const removed = new AbortController();
  // Every stream of a ticket that the secret has signed adds a listener.
  setMaxListeners(0, removed.signal);
  return { text, key: new TextEncoder().encode(text), removed };
}

/**
 * Whether a ticket is written as this server writes it. The last character of a signature holds bits that no decoder
 * looks at, so another one in its place would verify, too.
 */
function isCanonical(ticket: string): boolean {
  const signature = ticket.slice(ticket.lastIndexOf(".") + 1);
  return ticket.startsWith(TICKET_PREFIX) && Buffer.from(signature, "base64url").toString("base64url") === signature;
}

/** Undefined when the claims are not those of a ticket, which no server signs by itself. */
function principalOf(payload: JWTPayload, revoked: AbortSignal): Verified | undefined {
  const { namespace, session_id: sessionId, uid, generation, scope, owner, exp, jti } = payload;
  if (typeof namespace !== "string" || !isNamespace(namespace) || !isTicketScope(scope)) return undefined;
  if (typeof sessionId !== "string" || sessionId === "" || typeof uid !== "string" || uid === "") return undefined;
  if (!Number.isSafeInteger(generation) || typeof jti !== "string" || jti === "") return undefined;
  if (owner !== undefined && (typeof owner !== "string" || owner === "")) return undefined;
  return {
    name: `ticket ${jti}`,
    namespace,
    scope,
    access: { ticket: { sessionId, uid, generation: generation as number, ...(owner !== undefined && { owner }) } },
    // jose has checked that `exp` is there and is a number.
    expiresMs: exp! * 1000,
    revoked,
  };
}
