import type { Command, Option } from "commander";
import type { Limits } from "../domain/limits.js";
import type { Quotas } from "../domain/quotas.js";
import type { SearchScope } from "../domain/search.js";
import {
  auditLogFlag,
  authFlags,
  hideTodosFlag,
  isKeySetUrl,
  type JwtConfig,
  readJwt,
  readTls,
  type TlsConfig,
  tlsCertFlag,
} from "./auth-flags.js";
import { contentLimitFlags, readContentLimits } from "./content-limits.js";
import {
  type Flags,
  flag,
  parseHosts,
  parseOrigins,
  parseSearchScope,
  parseWorkers,
  seconds,
  secondsOrZero,
} from "./flags.js";
import { quotaFlags, readQuotas } from "./quotas.js";
import {
  attachmentIdleFlag,
  feedRetentionFlag,
  readFeedRetention,
  readRetention,
  readUndelete,
  retentionFlag,
  undeleteFlag,
} from "./retention-flags.js";
import { readServerLimits, type ServerLimits, serverLimitFlags } from "./server-limits.js";
import { addStorageOption } from "./storage-flags.js";
import { readWebhook, type WebhookConfig, webhookFlags } from "./webhook-flags.js";

export { isKeySetUrl, type JwtConfig } from "./auth-flags.js";
export { DEFAULT_SERVER_LIMITS, type ServerLimits } from "./server-limits.js";

/** An address to listen on. Port 0 picks a free port. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The whole configuration of `serve`. */
export interface ServeConfig {
  readonly storage: string;
  readonly grpcAddress: Address;
  readonly httpAddress: Address;
  readonly workers: number;
  readonly logLevel: LogLevel;
  /** Origins whose pages may call; `*` means all, and an empty list none. */
  readonly corsOrigins: readonly string[];
  /**
   * Hosts besides loopback that requests may name. When empty, a server with keys accepts any host, and one without
   * keys only loopback.
   */
  readonly allowedHosts: readonly string[];
  /**
   * Where metrics are served without a key. When absent, they are at `/metrics` of the HTTP port, which needs a key if
   * calls do.
   */
  readonly metricsAddress?: Address | undefined;
  /** Whether the console, `/docs` and `/openapi.json` are served. */
  readonly console: boolean;
  readonly reflection: boolean;
  /** Whether the HTTP port serves OpenAI's conversations below /v1. */
  readonly openAi: boolean;
  /** Whether messages can be searched, and for what. */
  readonly search: boolean | SearchScope;
  /** Whether callers that are bound to an owner get no todo list. */
  readonly hidesTodos: boolean;
  readonly tls?: TlsConfig | undefined;
  readonly keysFile?: string | undefined;
  readonly jwt?: JwtConfig | undefined;
  /** The file with the secret that signs tickets; without it there are none. */
  readonly ticketSecretFile?: string | undefined;
  /** The file that the audit log is appended to. */
  readonly auditLog?: string | undefined;
  readonly webhook?: WebhookConfig | undefined;
  readonly limits: Limits;
  readonly serverLimits: ServerLimits;
  readonly quotas: Quotas;
  /** 0 turns sweeping off. */
  readonly sweepIntervalMs: number;
  /** How long a draft may go without being extended before it is finished or discarded. */
  readonly draftTimeoutMs: number;
  /** How long an attachment is kept that nothing names. */
  readonly attachmentIdleMs: number;
  /** How long a namespace may go without a call before its memory is released. */
  readonly namespaceIdleMs: number;
  /** How long after its last change a session expires; Infinity means never. */
  readonly retentionMs: number;
  /** How long a deleted session can be brought back; 0 for not at all. */
  readonly undeleteMs: number;
  /** For how long a watch of sessions can be resumed, in milliseconds. */
  readonly feedRetentionMs: number;
  /** How long running calls may take while the server stops. */
  readonly shutdownMs: number;
  /** Whether OTEL_ variables are set, which turns tracing on. */
  readonly tracing: boolean;
}

/** Adds the flags that tell `health` where and how the server listens. */
export function addHealthOptions(command: Command): Command {
  return command.addOption(httpAddressFlag()).addOption(tlsCertFlag());
}

/**
 * Adds the flags of `serve`. Each can also be given as an environment variable, SESSION_POOL_ and its name in capitals.
 */
export function addServeOptions(command: Command): Command {
  addStorageOption(command);
  const options = [
    flag("--grpc-address <host:port>", "where gRPC listens").default("127.0.0.1:50051"),
    httpAddressFlag(),
    flag("--workers <n>", "processes that share the ports, or auto").default(1, "1").argParser(parseWorkers),
    flag("--log-level <level>", "least severe lines to log").default("info").choices(LOG_LEVELS),
    flag("--cors-origin <origins>", "origins whose pages may call, separated by commas, or *").argParser(parseOrigins),
    flag("--allowed-hosts <hosts>", "hosts besides localhost that requests may name, separated by commas").argParser(
      parseHosts,
    ),
    flag("--metrics-address <host:port>", "where metrics are served, without a key, instead of at /metrics"),
    flag("--no-console", "serve no console, no /docs and no /openapi.json"),
    flag("--no-reflection", "serve no gRPC reflection"),
    flag("--openai", "serve OpenAI's conversations below /v1 of the HTTP port").default(false),
    flag("--search [what]", "find messages by their words, in text or all: gives the database an index")
      .default(false)
      .preset("text")
      .argParser(parseSearchScope),
    ...authFlags(),
    auditLogFlag(),
    hideTodosFlag(),
    ...webhookFlags(),
    ...serverLimitFlags(),
    ...quotaFlags(),
    flag("--sweep-interval-s <n>", "seconds between sweeps, 0 for none").default(300).argParser(secondsOrZero),
    flag("--namespace-idle-s <n>", "seconds without a call before a namespace leaves the memory")
      .default(900)
      .argParser(seconds),
    flag("--draft-timeout-s <n>", "seconds without a delta before a draft is finished or discarded")
      .default(900)
      .argParser(seconds),
    retentionFlag(),
    undeleteFlag(),
    attachmentIdleFlag(),
    feedRetentionFlag(),
    flag("--shutdown-s <n>", "seconds that running calls get at the end").default(10).argParser(secondsOrZero),
    ...contentLimitFlags(),
  ];
  for (const option of options) command.addOption(option);
  return command;
}

function httpAddressFlag(): Option {
  const flagged = flag("--http-address <host:port>", "where REST, Connect, gRPC-Web and the console listen");
  return flagged.default("127.0.0.1:8080");
}

/** Adds the flags of the command that deletes what has expired. */
export function addSweepOptions(command: Command): Command {
  return command.addOption(retentionFlag()).addOption(attachmentIdleFlag()).addOption(feedRetentionFlag());
}

/** Makes a config from the flags that commander has read. Throws an Error with a one-line message. */
export function readServeConfig(flags: Flags): ServeConfig {
  const config: ServeConfig = {
    storage: flags.storage as string,
    grpcAddress: parseAddress("--grpc-address", flags.grpcAddress as string),
    httpAddress: parseAddress("--http-address", flags.httpAddress as string),
    workers: flags.workers as number,
    logLevel: flags.logLevel as LogLevel,
    corsOrigins: (flags.corsOrigin as readonly string[] | undefined) ?? [],
    allowedHosts: (flags.allowedHosts as readonly string[] | undefined) ?? [],
    metricsAddress:
      flags.metricsAddress === undefined
        ? undefined
        : parseAddress("--metrics-address", flags.metricsAddress as string),
    console: flags.console as boolean,
    reflection: flags.reflection as boolean,
    openAi: flags.openai as boolean,
    search: flags.search as boolean | SearchScope,
    hidesTodos: flags.hideTodosFromOwners as boolean,
    tls: readTls(flags),
    keysFile: flags.keysFile as string | undefined,
    ticketSecretFile: flags.ticketSecretFile as string | undefined,
    jwt: readJwt(flags),
    auditLog: flags.auditLog as string | undefined,
    webhook: readWebhook(flags),
    limits: readContentLimits(flags),
    serverLimits: readServerLimits(flags),
    quotas: readQuotas(flags),
    sweepIntervalMs: (flags.sweepIntervalS as number) * 1000,
    draftTimeoutMs: (flags.draftTimeoutS as number) * 1000,
    attachmentIdleMs: (flags.attachmentIdleS as number) * 1000,
    namespaceIdleMs: (flags.namespaceIdleS as number) * 1000,
    retentionMs: readRetention(flags.retentionDays as number),
    undeleteMs: readUndelete(flags.undeleteDays as number),
    feedRetentionMs: readFeedRetention(flags.feedRetentionH as number),
    shutdownMs: (flags.shutdownS as number) * 1000,
    tracing: Object.keys(process.env).some((name) => name.startsWith("OTEL_")),
  };
  checkReach(config);
  if (config.workers > 1 && config.storage.startsWith("memory:")) {
    throw new Error("--workers needs a store that processes can share: memory: is kept by one process alone");
  }
  return config;
}

/** The first version of Node that has taken all malformed HTTP/2 of test/abuse without ending. */
const SOUND_NODE = 24;

/** Warnings about a config that is valid but risky. */
export function warningsOf(config: ServeConfig, nodeVersion = process.versions.node): readonly string[] {
  const { jwt, webhook, httpAddress, grpcAddress, metricsAddress = httpAddress } = config;
  const warnings: string[] = [];
  if (jwt !== undefined && jwt.audience === undefined)
    warnings.push("Without --jwt-audience, tokens that were issued for other services are accepted, too");
  if (webhook !== undefined && isSentInTheClear(webhook.url))
    warnings.push("--webhook is not https: whoever is on the way can read which sessions change");
  if (jwt !== undefined && isKeySetUrl(jwt.jwks) && isSentInTheClear(jwt.jwks))
    warnings.push("--jwks is fetched without TLS: whoever is on the way can put in keys, and sign any token with them");
  const isExposed = [httpAddress, grpcAddress, metricsAddress].some(({ host }) => !isLoopback(host));
  if (isExposed && Number.parseInt(nodeVersion, 10) < SOUND_NODE)
    warnings.push(
      `Node ${nodeVersion} has faults by which malformed HTTP/2 may end the process, without a key; use Node ${SOUND_NODE} or later where others can reach this server`,
    );
  return warnings;
}

/** Whether another machine is spoken to by plain HTTP. */
function isSentInTheClear(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !isLoopback(hostname.replace(/^\[|\]$/g, ""));
}

/** Whether calls need a key or token. */
export function isKeyed({ keysFile, jwt }: Pick<ServeConfig, "keysFile" | "jwt">): boolean {
  return keysFile !== undefined || jwt !== undefined;
}

/** Whether only this machine can reach the address. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

/** Formats an address as `host:port`, as in a URL. */
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

function checkReach(config: ServeConfig): void {
  if (isKeyed(config)) return;
  for (const address of [config.grpcAddress, config.httpAddress]) {
    if (isLoopback(address.host)) continue;
    const text = formatAddress(address);
    throw new Error(
      `Without --keys-file or --jwks everyone may do everything, so ${text} is refused: only loopback addresses are served`,
    );
  }
}
