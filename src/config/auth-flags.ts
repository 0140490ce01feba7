import type { Option } from "commander";
import { type Flags, flag, parseText } from "./flags.js";

/** Settings for JWTs that serve as keys. */
export interface JwtConfig {
  /** A file or http(s) URL with a JSON Web Key Set. */
  readonly jwks: string;
  readonly issuer?: string | undefined;
  readonly audience?: string | undefined;
  /** The claim that names the namespace. */
  readonly namespaceClaim: string;
  /**
   * The claim that holds the scopes, as a list or as text separated by spaces: `read`, `write`, `admin`, each with or
   * without the prefix `session-pool:`.
   */
  readonly scopeClaim: string;
  /** The claim that holds the owner whose sessions a token opens. When absent, a token opens the whole namespace. */
  readonly ownerClaim?: string | undefined;
}

/** A certificate and its key, as files. */
export interface TlsConfig {
  readonly certPath: string;
  readonly keyPath: string;
}

/** The flags of keys, tokens and TLS. */
export function authFlags(): Option[] {
  return [
    tlsCertFlag(),
    flag("--tls-key <file>", "key of the certificate (PEM)").argParser(parseText),
    flag("--keys-file <file>", "API keys (see session-pool keys)").argParser(parseText),
    flag("--ticket-secret-file <file>", "secret that signs tickets (see session-pool keys ticket-secret)").argParser(
      parseText,
    ),
    flag("--jwks <file or url>", "key set that tokens (JWT) are verified with").argParser(parseText),
    flag("--jwt-issuer <text>", "issuer that tokens must have").argParser(parseText),
    flag("--jwt-audience <text>", "audience that tokens must have").argParser(parseText),
    flag("--jwt-namespace-claim <name>", "claim that names the namespace").default("namespace"),
    flag("--jwt-scope-claim <name>", "claim that holds read, write or admin").default("scope"),
    flag("--jwt-owner-claim <name>", "claim that holds the owner whose sessions alone a token opens").argParser(
      parseText,
    ),
  ];
}

/** The flag of programs that callers bound to an owner use. */
export function hideTodosFlag(): Option {
  return flag("--hide-todos-from-owners", "refuse the todo list to callers that are bound to an owner").default(false);
}

/** The flag of everything that changes what is stored. */
export function auditLogFlag(): Option {
  return flag("--audit-log <file>", "file that gets a JSON line about each change and refusal").argParser(parseText);
}

export function tlsCertFlag(): Option {
  return flag("--tls-cert <file>", "certificate chain (PEM); TLS on both ports").argParser(parseText);
}

/** Throws an Error with a one-line message when one of the two files is missing. */
export function readTls({ tlsCert, tlsKey }: Flags): TlsConfig | undefined {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined) throw new Error("--tls-cert and --tls-key must be given together");
  return { certPath: tlsCert as string, keyPath: tlsKey as string };
}

/** Whether a key set is fetched, and not read from a file. */
export function isKeySetUrl(jwks: string): boolean {
  return /^https?:\/\//i.test(jwks);
}

/** Throws an Error with a one-line message when token settings have no key set, or its URL is malformed. */
export function readJwt(flags: Flags): JwtConfig | undefined {
  if (flags.jwks === undefined) {
    if ([flags.jwtIssuer, flags.jwtAudience, flags.jwtOwnerClaim].every((value) => value === undefined))
      return undefined;
    throw new Error(
      "--jwt-issuer, --jwt-audience and --jwt-owner-claim need --jwks, because without a key set no token is checked",
    );
  }
  const jwks = flags.jwks as string;
  if (isKeySetUrl(jwks) && !URL.canParse(jwks)) throw new Error(`--jwks is no URL that can be fetched: ${jwks}`);
  return {
    jwks,
    issuer: flags.jwtIssuer as string | undefined,
    audience: flags.jwtAudience as string | undefined,
    namespaceClaim: flags.jwtNamespaceClaim as string,
    scopeClaim: flags.jwtScopeClaim as string,
    ownerClaim: flags.jwtOwnerClaim as string | undefined,
  };
}
