import type { Option } from "commander";
import { type Flags, flag, milliseconds, positive, seconds } from "./flags.js";

/** Limits that exist once for the process and once for each key. */
export interface SharedLimits {
  /** Unary calls, counted from their headers to the answer. */
  readonly inFlightCalls: number;
  readonly watchers: number;
  /** Connections, on both ports together. */
  readonly connections: number;
  /** Bytes of requests that are not answered yet and of answers that are not read yet. */
  readonly bufferedBytes: number;
}

/** How much one process takes on at once; beyond that it answers `resource_exhausted`. */
export interface ServerLimits extends SharedLimits {
  /** Limits of each key. On a server with keys, all callers without one share one such allowance. */
  readonly perKey: SharedLimits;
  /** The longest a unary call may take, and a step of a transfer. */
  readonly unaryDeadlineMs: number;
  /** The largest HTTP request body after decompression; the gRPC port accepts 1 MiB more. */
  readonly bodyBytes: number;
  /** The most values that a request may hold, such as fields of messages and members of objects. */
  readonly bodyValues: number;
  /** The longest a request body may take to arrive, and the body of an upload may pause. */
  readonly bodyTimeoutMs: number;
  /** Streams of one HTTP/2 connection. */
  readonly connectionStreams: number;
  /** How long an HTTP/2 connection may stay open without a call. */
  readonly connectionIdleMs: number;
  /** How long a connection accepts new calls. */
  readonly connectionAgeMs: number;
}

/** How much larger than an HTTP body a gRPC request may be, so that the API's own checks can name the exact limit. */
export const GRPC_EXTRA_BYTES = 1024 * 1024;

/**
 * How much memory a value of a decoded request counts for. Most take between 40 and 130 bytes, and twice that while the
 * request is converted.
 */
export const VALUE_BYTES = 128;

const SHARED: SharedLimits = {
  inFlightCalls: 1024,
  watchers: 4096,
  connections: 8192,
  // The process takes about three times as much, because freed memory is collected only now and then.
  bufferedBytes: 96 * 1024 * 1024,
};

export const DEFAULT_SERVER_LIMITS: ServerLimits = {
  ...SHARED,
  perKey: {
    inFlightCalls: half(SHARED.inFlightCalls),
    watchers: half(SHARED.watchers),
    connections: half(SHARED.connections),
    bufferedBytes: quarter(SHARED.bufferedBytes),
  },
  unaryDeadlineMs: 30_000,
  bodyBytes: 8 * 1024 * 1024,
  bodyValues: 100_000,
  bodyTimeoutMs: 60_000,
  connectionStreams: 256,
  connectionIdleMs: 300_000,
  connectionAgeMs: 3_600_000,
};

/** The rest is left for the store, its files and other connections of this process, which need descriptors too. */
const CONNECTIONS_SHARE = 3 / 4;

/**
 * The flags of these limits. Unless given, the limits of one key are half of the process's, and a quarter for memory.
 */
export function serverLimitFlags(): Option[] {
  const { unaryDeadlineMs, bodyBytes, bodyTimeoutMs, connectionIdleMs, connectionAgeMs } = DEFAULT_SERVER_LIMITS;
  return [
    flag("--max-calls <n>", "calls answered at a time").default(SHARED.inFlightCalls).argParser(positive),
    flag("--max-calls-per-key <n>", "the same for one key; half by default").argParser(positive),
    flag("--max-watchers <n>", "streams served at a time").default(SHARED.watchers).argParser(positive),
    flag("--max-watchers-per-key <n>", "the same for one key; half by default").argParser(positive),
    flag("--max-connections <n>", "connections at a time; by default what the limit of descriptors allows").argParser(
      positive,
    ),
    flag("--max-connections-per-key <n>", "the same for one key; half by default").argParser(positive),
    flag("--max-buffered-bytes <n>", "requests and answers in memory")
      .default(SHARED.bufferedBytes)
      .argParser(positive),
    flag("--max-buffered-bytes-per-key <n>", "the same for one key; a quarter by default").argParser(positive),
    flag("--call-timeout-ms <n>", "longest a call may take, or a transfer pause")
      .default(unaryDeadlineMs)
      .argParser(milliseconds),
    flag("--max-body-bytes <n>", "largest request body").default(bodyBytes).argParser(positive),
    flag(
      "--max-body-values <n>",
      `values of a request; by default ${DEFAULT_SERVER_LIMITS.bodyValues}, or what fits into memory`,
    ).argParser(positive),
    flag("--body-timeout-s <n>", "longest a request body may take, or an upload pause")
      .default(bodyTimeoutMs / 1000)
      .argParser(seconds),
    flag("--connection-idle-s <n>", "seconds that an HTTP/2 connection may be without a call")
      .default(connectionIdleMs / 1000)
      .argParser(seconds),
    flag("--connection-age-s <n>", "seconds after which a connection takes no new calls")
      .default(connectionAgeMs / 1000)
      .argParser(seconds),
  ];
}

/** Reads the limits. Throws an Error with a one-line message when they contradict each other. */
export function readServerLimits(flags: Flags): ServerLimits {
  const shared: SharedLimits = {
    inFlightCalls: flags.maxCalls as number,
    watchers: flags.maxWatchers as number,
    connections: (flags.maxConnections as number | undefined) ?? connectionsFor(openFileLimit()),
    bufferedBytes: flags.maxBufferedBytes as number,
  };
  const perKey: SharedLimits = {
    inFlightCalls: (flags.maxCallsPerKey as number | undefined) ?? half(shared.inFlightCalls),
    watchers: (flags.maxWatchersPerKey as number | undefined) ?? half(shared.watchers),
    connections: (flags.maxConnectionsPerKey as number | undefined) ?? half(shared.connections),
    bufferedBytes: (flags.maxBufferedBytesPerKey as number | undefined) ?? quarter(shared.bufferedBytes),
  };
  const bodyBytes = flags.maxBodyBytes as number;
  const requestBytes = bodyBytes + GRPC_EXTRA_BYTES;
  const roomBytes = Math.min(shared.bufferedBytes, perKey.bufferedBytes);
  if (roomBytes < 2 * requestBytes) {
    throw new Error(
      `--max-buffered-bytes-per-key must be twice the largest request, ${2 * requestBytes} bytes, or more`,
    );
  }
  const fittingValues = Math.floor((roomBytes - requestBytes) / VALUE_BYTES);
  const bodyValues =
    (flags.maxBodyValues as number | undefined) ?? Math.min(DEFAULT_SERVER_LIMITS.bodyValues, fittingValues);
  if (bodyValues > fittingValues) {
    throw new Error(
      `--max-body-values must be at most ${fittingValues}: each value counts for ${VALUE_BYTES} bytes of --max-buffered-bytes-per-key, besides the largest request`,
    );
  }
  return {
    ...shared,
    perKey,
    unaryDeadlineMs: flags.callTimeoutMs as number,
    bodyBytes,
    bodyValues,
    bodyTimeoutMs: (flags.bodyTimeoutS as number) * 1000,
    connectionStreams: DEFAULT_SERVER_LIMITS.connectionStreams,
    connectionIdleMs: (flags.connectionIdleS as number) * 1000,
    connectionAgeMs: (flags.connectionAgeS as number) * 1000,
  };
}

/**
 * The number of connections for a process that may open this many files; undefined when the number of files is not
 * known.
 */
export function connectionsFor(openFiles: number | undefined): number {
  if (openFiles === undefined) return SHARED.connections;
  return Math.max(1, Math.min(SHARED.connections, Math.floor(openFiles * CONNECTIONS_SHARE)));
}

/** Node only exposes this limit in its diagnostic reports. */
function openFileLimit(): number | undefined {
  const report = process.report.getReport() as {
    readonly userLimits?: { readonly open_files?: { readonly soft: unknown } };
  };
  const limit = Number(report.userLimits?.open_files?.soft);
  return Number.isFinite(limit) ? limit : undefined;
}

function quarter(limit: number): number {
  return Math.ceil(limit / 4);
}

function half(limit: number): number {
  return Math.ceil(limit / 2);
}
