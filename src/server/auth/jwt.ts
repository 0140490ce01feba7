import { readFileSync } from "node:fs";
import { Code } from "@connectrpc/connect";
import {
  type CryptoKey,
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  jwtVerify,
  type LocalJWKSet,
} from "jose";
import { ApiError } from "../../api/api-error.js";
import { SCOPES, type Scope } from "../../api/api-method.js";
import { isKeySetUrl, type JwtConfig } from "../../config/config.js";
import { checkOwner, type OwnerAccess } from "../../domain/access.js";
import type { Logger } from "../logging.js";
import { RepeatedLines } from "../repeated-lines.js";
import { type WatchedFiles, watchFiles } from "../watched-files.js";
import type { CredentialChecker } from "./authenticator.js";
import { fetchKeySet } from "./fetch-key-set.js";
import { isNamespace } from "./key-file.js";
import { sha256 } from "./key-hash.js";
import { PresentKeys } from "./present-keys.js";
import type { Principal } from "./principal.js";

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

/** Finds the key that a token names. */
type KeyFinder = JWTVerifyGetKey<CryptoKey>;

/** A token that a key has signed. */
interface Verified {
  readonly payload: JWTPayload;
  readonly key: CryptoKey;
}

/** Accepts tokens signed by a key of the JWKS. */
export class JwtChecker implements CredentialChecker {
  readonly #options: JwtConfig;
  readonly #logger: Logger;
  readonly #lines: RepeatedLines;
  /** The key set, if it is a file. */
  readonly #watched: WatchedFiles | undefined;
  readonly #present = new PresentKeys();
  readonly #believed = new Map<string, { readonly principal: Principal; readonly untilMs: number }>();
  #keys: KeyFinder;

  /** Throws an Error with a one-line message when a file cannot be used. */
  constructor(options: JwtConfig, logger: Logger) {
    this.#options = options;
    this.#logger = logger;
    this.#lines = new RepeatedLines(logger);
    if (isKeySetUrl(options.jwks)) {
      this.#keys = this.#remoteKeys(new URL(options.jwks));
      return;
    }
    const failure = "JWKS file cannot be used; the keys from before stay valid until it can";
    this.#watched = watchFiles([options.jwks], { read: () => this.#replace(), failure, logger });
    try {
      this.#keys = this.#readFile();
    } catch (error) {
      this.#watched.close();
      throw error;
    }
  }

  async check(credential: string): Promise<Principal | undefined> {
    if (credential.split(".").length !== 3) return undefined;
    const id = sha256(credential).toString("base64");
    const believed = this.#believed.get(id);
    if (believed !== undefined && Date.now() < believed.untilMs) return believed.principal;
    const verified = await this.#verify(credential);
    const principal = verified && this.#principalOf(verified);
    if (principal === undefined) return undefined;
    if (this.#believed.size >= BELIEVED) this.#believed.clear();
    this.#believed.set(id, { principal, untilMs: Math.min(Date.now() + BELIEVED_MS, principal.expiresMs) });
    return principal;
  }

  /** Reads a key set that is a file again; jose itself refreshes other key sets. */
  reload(): void {
    this.#watched?.reload();
  }

  close(): void {
    this.#watched?.close();
  }

  async #verify(token: string): Promise<Verified | undefined> {
    const { issuer, audience } = this.#options;
    const requiredClaims = ["exp"];
    const options = {
      algorithms: ALGORITHMS,
      requiredClaims,
      ...(issuer && { issuer }),
      ...(audience && { audience }),
    };
    try {
      return await verifyWithAny(token, this.#keys, options);
    } catch (cause) {
      if (cause instanceof ApiError) throw cause;
      if (cause instanceof errors.JOSEError && !(cause instanceof errors.JWKSInvalid)) {
        this.#logger.debug({ reason: cause.code }, "Token refused");
      } else {
        const text = "A token was refused because its key in the key set cannot be used";
        this.#lines.log("warn", "unusable key", text, () => ({ reason: String(cause) }));
      }
      return undefined;
    }
  }

  #principalOf({ payload, key }: Verified): (Principal & { readonly expiresMs: number }) | undefined {
    const namespace = payload[this.#options.namespaceClaim];
    const scope = widestScope(payload[this.#options.scopeClaim]);
    const name: unknown = payload.sub ?? "token";
    if (typeof namespace !== "string" || !isNamespace(namespace) || scope === undefined) return undefined;
    // Before the name, because the owner may be in the same claim.
    const access = scope === "admin" ? undefined : this.#accessOf(payload);
    if (typeof name !== "string") return undefined;
    const revoked = this.#present.removalOf(key);
    // The key was removed from the set meanwhile.
    if (revoked === undefined) return undefined;
    // jose has checked that `exp` is there and is a number.
    return { name, id: `token ${name}`, namespace, scope, access, expiresMs: payload.exp! * 1000, revoked };
  }

  /** `permission_denied`: the token names no owner, although it must. */
  #accessOf(payload: JWTPayload): OwnerAccess | undefined {
    const { ownerClaim } = this.#options;
    return ownerClaim === undefined ? undefined : readOwnerClaim(ownerClaim, payload[ownerClaim]);
  }

  /** The keys behind a URL. jose fetches them again when a token is checked, after ten minutes or for a new key. */
  #remoteKeys(url: URL): KeyFinder {
    const fetchKeys = async (...request: Parameters<typeof fetchKeySet>): Promise<Response> => {
      const keySet = await fetchKeySet(...request);
      this.#take(keySet);
      return Response.json(keySet);
    };
    return createRemoteJWKSet(url, { [customFetch]: fetchKeys });
  }

  #readFile(): KeyFinder {
    const keys = readJwksFile(this.#options.jwks);
    this.#take(keys.jwks());
    return keys;
  }

  #replace(): void {
    this.#keys = this.#readFile();
    this.#logger.info("JWKS file read again");
  }

  #take(keySet: JSONWebKeySet): void {
    this.#believed.clear();
    this.#present.update(keySet);
  }
}

/**
 * Verifies a token with the key that it names. If several keys come into question, because the token names none or
 * because keys have the same name, each is tried.
 */
async function verifyWithAny(token: string, keys: KeyFinder, options: JWTVerifyOptions): Promise<Verified> {
  try {
    return await jwtVerify(token, keys, options);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    for await (const key of error) {
      try {
        return { payload: (await jwtVerify(token, key, options)).payload, key };
      } catch (failure) {
        // The signature is right, so another key would not help.
        if (failure instanceof errors.JOSEError && !(failure instanceof errors.JWSSignatureVerificationFailed))
          throw failure;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

function readOwnerClaim(claim: string, owner: unknown): OwnerAccess {
  const field = `The claim ${JSON.stringify(claim)}`;
  if (typeof owner !== "string" || owner === "") {
    throw new ApiError(Code.PermissionDenied, `${field} of the token must be a text that names the owner`);
  }
  try {
    checkOwner(field, owner);
  } catch (error) {
    throw new ApiError(Code.PermissionDenied, `The token names no owner: ${(error as Error).message}`);
  }
  return { owner };
}

function widestScope(claim: unknown): Scope | undefined {
  const words: readonly unknown[] = typeof claim === "string" ? claim.split(" ") : Array.isArray(claim) ? claim : [];
  const scopes = words.map((word) => (typeof word === "string" ? word.replace(/^session-pool:/, "") : undefined));
  return SCOPES.findLast((scope) => scopes.includes(scope));
}

function readJwksFile(path: string): LocalJWKSet {
  try {
    return createLocalJWKSet(JSON.parse(readFileSync(path, "utf8")) as JSONWebKeySet);
  } catch (cause) {
    throw new Error(`JWKS file ${path} cannot be used: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}
