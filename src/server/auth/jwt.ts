import { readFileSync } from "node:fs";
import { Code } from "@connectrpc/connect";
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from "jose";
import { ApiError } from "../../api/api-error.js";
import type { JwtConfig } from "../../config.js";
import type { Logger } from "../logging.js";
import type { Principal, Scope } from "../principal.js";
import { watchFiles } from "../watched-files.js";
import type { CredentialChecker } from "./authenticator.js";
import { isNamespace } from "./key-file.js";
import { sha256 } from "./key-hash.js";

/** How long a verified token is accepted without being verified again, and how many are remembered. */
const BELIEVED_MS = 60_000;
const BELIEVED = 10_000;

/** RSA, EC and Ed25519 signatures; never a shared secret, never `none`. */
const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];

/** Accepts tokens signed by a key of the JWKS. */
export class JwtChecker implements CredentialChecker {
  readonly #options: JwtConfig;
  readonly #logger: Logger;
  readonly #isFile: boolean;
  readonly #stopWatching: () => void;
  readonly #believed = new Map<string, { readonly principal: Principal; readonly untilMs: number }>();
  #keys: JWTVerifyGetKey;

  /** Throws an Error with a one-line message when a file cannot be used. */
  constructor(options: JwtConfig, logger: Logger) {
    this.#options = options;
    this.#logger = logger;
    this.#isFile = !/^https?:\/\//i.test(options.jwks);
    this.#stopWatching = this.#isFile ? watchFiles([options.jwks], () => this.reload()) : () => undefined;
    try {
      this.#keys = this.#isFile ? readJwksFile(options.jwks) : createRemoteJWKSet(new URL(options.jwks));
    } catch (error) {
      this.#stopWatching();
      throw error;
    }
  }

  async check(credential: string): Promise<Principal | undefined> {
    if (credential.split(".").length !== 3) return undefined;
    const id = sha256(credential).toString("base64");
    const believed = this.#believed.get(id);
    if (believed !== undefined && Date.now() < believed.untilMs) return believed.principal;
    const payload = await this.#verify(credential);
    const principal = payload && this.#principalOf(payload);
    if (payload === undefined || principal === undefined) return undefined;
    if (this.#believed.size >= BELIEVED) this.#believed.clear();
    this.#believed.set(id, { principal, untilMs: Math.min(Date.now() + BELIEVED_MS, principal.expiresMs) });
    return principal;
  }

  close(): void {
    this.#stopWatching();
  }

  async #verify(token: string): Promise<JWTPayload | undefined> {
    const { issuer, audience } = this.#options;
    const requiredClaims = ["exp"];
    const options = {
      algorithms: ALGORITHMS,
      requiredClaims,
      ...(issuer && { issuer }),
      ...(audience && { audience }),
    };
    try {
      return (await jwtVerify(token, this.#keys, options)).payload;
    } catch (cause) {
      // A wrong token causes one of jose's errors. Everything else, including a timeout, means that the key set cannot
      // be reached.
      if (cause instanceof errors.JOSEError && !(cause instanceof errors.JWKSTimeout)) {
        this.#logger.debug({ reason: cause.code }, "Token refused");
        return undefined;
      }
      throw new ApiError(Code.Unavailable, "The key set for tokens cannot be reached", { cause });
    }
  }

  #principalOf(payload: JWTPayload): (Principal & { readonly expiresMs: number }) | undefined {
    const namespace = payload[this.#options.namespaceClaim];
    const scope = widestScope(payload[this.#options.scopeClaim]);
    if (typeof namespace !== "string" || !isNamespace(namespace) || scope === undefined) return undefined;
    // jose has checked that it is present and a number.
    return { name: payload.sub ?? "token", namespace, scope, expiresMs: payload.exp! * 1000 };
  }

  /** Reads a key set that is a file again; jose itself refreshes other key sets. */
  reload(): void {
    if (!this.#isFile) return;
    try {
      this.#keys = readJwksFile(this.#options.jwks);
      this.#believed.clear();
      this.#logger.info("JWKS file read again");
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#logger.error({ reason }, "JWKS file cannot be used; the keys from before stay valid");
    }
  }
}

function widestScope(claim: unknown): Scope | undefined {
  const words = typeof claim === "string" ? claim.split(" ") : Array.isArray(claim) ? claim.map(String) : [];
  const scopes = words.map((word) => word.replace(/^session-pool:/, ""));
  return (["admin", "write", "read"] as const).find((scope) => scopes.includes(scope));
}

function readJwksFile(path: string): JWTVerifyGetKey {
  try {
    return createLocalJWKSet(JSON.parse(readFileSync(path, "utf8")) as JSONWebKeySet);
  } catch (cause) {
    throw new Error(`JWKS file ${path} cannot be used: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}
