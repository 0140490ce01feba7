import { availableParallelism } from "node:os";
import { type Command, InvalidArgumentError, Option } from "commander";
import { DEFAULT_LIMITS, type Limits } from "./domain/limits.js";

/** Where a port listens. Port 0 takes a free one. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Tokens (JWT) as keys. */
export interface JwtConfig {
  /** A file, or an http(s) URL, of a JSON Web Key Set. */
  readonly jwks: string;
  readonly issuer?: string | undefined;
  readonly audience?: string | undefined;
  /** Claim that names the namespace. */
  readonly namespaceClaim: string;
  /** Claim that holds scopes, as a text with spaces or a list: `read`, `write`, `admin`, or the same after `session-pool:`. */
  readonly scopeClaim: string;
}

/** How much the server takes on at once; past these `resource_exhausted`. */
export interface LoadLimits {
  /** Unary calls being answered. */
  readonly inFlightCalls: number;
  readonly watchers: number;
  /** Longest a unary call may take. */
  readonly unaryDeadlineMs: number;
  /** Body of a request by HTTP, after decompression; gRPC's port takes 1 MiB more. */
  readonly bodyBytes: number;
  /** Streams of one HTTP/2 connection. */
  readonly connectionStreams: number;
}

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** All that `serve` can be told. */
export interface ServeConfig {
  readonly storage: string;
  readonly grpcAddress: Address;
  readonly httpAddress: Address;
  readonly workers: number;
  readonly logLevel: LogLevel;
  /** Origins whose pages may call; `*` for all. None: closed. */
  readonly corsOrigins: readonly string[];
  readonly tls?: { readonly certPath: string; readonly keyPath: string } | undefined;
  readonly keysFile?: string | undefined;
  readonly jwt?: JwtConfig | undefined;
  readonly limits: Limits;
  readonly load: LoadLimits;
  /** 0: never. */
  readonly sweepIntervalMs: number;
  /** How long running calls may take when the server stops. */
  readonly shutdownMs: number;
  /** Whether OTEL_ variables are set: then traces are recorded. */
  readonly tracing: boolean;
}

export const DEFAULT_STORAGE = "sqlite:./data/session-pool.db";

export const DEFAULT_LOAD: LoadLimits = {
  inFlightCalls: 1024,
  watchers: 4096,
  unaryDeadlineMs: 30_000,
  bodyBytes: 8 * 1024 * 1024,
  connectionStreams: 256,
};

const LIMIT_TEXTS: Record<keyof Limits, string> = {
  messageBytes: "bytes of one message",
  batchMessages: "messages of one batch",
  batchBytes: "bytes of one batch",
  idBytes: "bytes of an id",
  titleBytes: "bytes of a title",
  metadataBytes: "bytes of a metadata Struct",
  structDepth: "levels of a Struct",
  todoCount: "todos",
  todoBytes: "bytes of all todos",
  pageMessages: "messages of a page",
  pageBytes: "bytes of a page",
  futureMs: "milliseconds that a timestamp may be ahead",
};

const LIMIT_KEYS = Object.keys(LIMIT_TEXTS) as (keyof Limits)[];

type Flags = Record<string, unknown>;

/** Adds the flag that every command with a store has. */
export function addStorageOption(command: Command): Command {
  return command.addOption(
    flag("--storage <url>", "sqlite:<path>, memory: or mongodb://...").default(DEFAULT_STORAGE).argParser(parseText),
  );
}

/** Adds the flag of commands that work on one namespace. */
export function addNamespaceOption(command: Command): Command {
  return command.addOption(flag("--namespace <name>", "namespace to work on").default("default").argParser(parseText));
}

/** Adds the flags of `serve`; each can also be given as SESSION_POOL_ and its name in capitals. */
export function addServeOptions(command: Command): Command {
  addStorageOption(command);
  const options = [
    flag("--grpc-address <host:port>", "where gRPC listens").default("127.0.0.1:50051"),
    flag("--http-address <host:port>", "where REST, Connect, gRPC-Web and the console listen").default(
      "127.0.0.1:8080",
    ),
    flag("--workers <n>", "processes that share the ports, or auto").default(1, "1").argParser(parseWorkers),
    flag("--log-level <level>", "least severe lines to log").default("info").choices(LOG_LEVELS),
    flag("--cors-origin <origins>", "origins whose pages may call, with commas, or *").argParser(parseOrigins),
    flag("--tls-cert <file>", "certificate chain (PEM); TLS on both ports").argParser(parseText),
    flag("--tls-key <file>", "key of the certificate (PEM)").argParser(parseText),
    flag("--keys-file <file>", "API keys (see session-pool keys)").argParser(parseText),
    flag("--jwks <file or url>", "key set that signs tokens (JWT)").argParser(parseText),
    flag("--jwt-issuer <text>", "issuer that tokens must have").argParser(parseText),
    flag("--jwt-audience <text>", "audience that tokens must have").argParser(parseText),
    flag("--jwt-namespace-claim <name>", "claim that names the namespace").default("namespace"),
    flag("--jwt-scope-claim <name>", "claim that holds read, write or admin").default("scope"),
    flag("--max-calls <n>", "calls answered at a time").default(DEFAULT_LOAD.inFlightCalls).argParser(positive),
    flag("--max-watchers <n>", "streams served at a time").default(DEFAULT_LOAD.watchers).argParser(positive),
    flag("--call-timeout-ms <n>", "longest a call may take").default(DEFAULT_LOAD.unaryDeadlineMs).argParser(positive),
    flag("--max-body-bytes <n>", "largest request body").default(DEFAULT_LOAD.bodyBytes).argParser(positive),
    flag("--sweep-interval-s <n>", "seconds between sweeps, 0 for none").default(300).argParser(wholeNumber),
    flag("--shutdown-s <n>", "seconds that running calls get at the end").default(10).argParser(wholeNumber),
    ...LIMIT_KEYS.map((key) =>
      flag(`--limit-${kebab(key)} <n>`, `limit: ${LIMIT_TEXTS[key]}`)
        .default(DEFAULT_LIMITS[key])
        .argParser(positive),
    ),
  ];
  for (const option of options) command.addOption(option);
  return command;
}

/** Makes a config of the flags that commander has read. Throws an Error with one clear line. */
export function readServeConfig(flags: Flags): ServeConfig {
  const config: ServeConfig = {
    storage: flags.storage as string,
    grpcAddress: parseAddress("--grpc-address", flags.grpcAddress as string),
    httpAddress: parseAddress("--http-address", flags.httpAddress as string),
    workers: flags.workers as number,
    logLevel: flags.logLevel as LogLevel,
    corsOrigins: (flags.corsOrigin as readonly string[] | undefined) ?? [],
    tls: readTls(flags),
    keysFile: flags.keysFile as string | undefined,
    jwt: readJwt(flags),
    limits: Object.fromEntries(
      LIMIT_KEYS.map((key) => [key, flags[camel(`limit-${kebab(key)}`)]]),
    ) as unknown as Limits,
    load: {
      inFlightCalls: flags.maxCalls as number,
      watchers: flags.maxWatchers as number,
      unaryDeadlineMs: flags.callTimeoutMs as number,
      bodyBytes: flags.maxBodyBytes as number,
      connectionStreams: DEFAULT_LOAD.connectionStreams,
    },
    sweepIntervalMs: (flags.sweepIntervalS as number) * 1000,
    shutdownMs: (flags.shutdownS as number) * 1000,
    tracing: Object.keys(process.env).some((name) => name.startsWith("OTEL_")),
  };
  checkReach(config);
  if (config.workers > 1 && config.storage.startsWith("memory:")) {
    throw new Error("--workers needs a store that processes can share: memory: is kept by one process alone");
  }
  return config;
}

/** Whether only this machine can reach the address. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

/** `host:port` as it stands in a URL. */
export function formatAddress({ host, port }: Address): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

export function parseAddress(name: string, text: string): Address {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535)
    throw new Error(`${name} must be host:port, for example 127.0.0.1:8080; it is ${text}`);
  return { host: (match[1] ?? match[2])!, port };
}

function checkReach({ grpcAddress, httpAddress, keysFile, jwt }: ServeConfig): void {
  if (keysFile !== undefined || jwt !== undefined) return;
  for (const address of [grpcAddress, httpAddress]) {
    if (isLoopback(address.host)) continue;
    const text = formatAddress(address);
    throw new Error(
      `Without --keys-file or --jwks everyone may do everything, so ${text} is refused: only loopback addresses are served`,
    );
  }
}

function readTls({ tlsCert, tlsKey }: Flags): ServeConfig["tls"] {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined) throw new Error("--tls-cert and --tls-key must be given together");
  return { certPath: tlsCert as string, keyPath: tlsKey as string };
}

function readJwt(flags: Flags): JwtConfig | undefined {
  if (flags.jwks === undefined) return undefined;
  return {
    jwks: flags.jwks as string,
    issuer: flags.jwtIssuer as string | undefined,
    audience: flags.jwtAudience as string | undefined,
    namespaceClaim: flags.jwtNamespaceClaim as string,
    scopeClaim: flags.jwtScopeClaim as string,
  };
}

function flag(names: string, description: string): Option {
  const option = new Option(names, description);
  return option.env(`SESSION_POOL_${option.name().replaceAll("-", "_").toUpperCase()}`);
}

/** For flags that name what a key may do. */
export function parseScope(text: string): "read" | "write" | "admin" {
  if (text === "read" || text === "write" || text === "admin") return text;
  throw new InvalidArgumentError("It must be read, write or admin.");
}

function parseText(text: string): string {
  if (text === "") throw new InvalidArgumentError("It must not be empty.");
  return text;
}

function parseWorkers(text: string): number {
  return text === "auto" ? availableParallelism() : positive(text);
}

function parseOrigins(text: string): readonly string[] {
  const origins = text
    .split(",")
    .map((origin) => origin.trim())
    .filter((origin) => origin !== "");
  for (const origin of origins) {
    const isOrigin = origin === "*" || (URL.canParse(origin) && new URL(origin).origin === origin);
    if (!isOrigin) throw new InvalidArgumentError(`${origin} is no origin such as https://example.com.`);
  }
  return origins;
}

function positive(text: string): number {
  const value = wholeNumber(text);
  if (value === 0) throw new InvalidArgumentError("It must be above 0.");
  return value;
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) throw new InvalidArgumentError("It must be a whole number.");
  return value;
}

function kebab(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function camel(name: string): string {
  return name.replace(/-(\w)/g, (_dash, letter: string) => letter.toUpperCase());
}
