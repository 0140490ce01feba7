import type { Option } from "commander";
import { type Flags, flag, positive } from "./flags.js";

/** What there is a limit of for the process, and another for each key. */
export interface SharedLimits {
  /** Unary calls, from their headers to the answer. */
  readonly inFlightCalls: number;
  readonly watchers: number;
  /** Connections, on both ports together. */
  readonly connections: number;
  /** Bytes of requests that are not answered yet, and of answers that are not read yet. */
  readonly bufferedBytes: number;
}

/** How much one process takes on at once; past these `resource_exhausted`. */
export interface LoadLimits extends SharedLimits {
  /** Those of each key. On a server with keys, callers without one have such a share together. */
  readonly perKey: SharedLimits;
  /** Longest a unary call may take. */
  readonly unaryDeadlineMs: number;
  /** Body of a request by HTTP, after decompression; gRPC's port takes 1 MiB more. */
  readonly bodyBytes: number;
  /** Longest the body of a request may take to arrive. */
  readonly bodyTimeoutMs: number;
  /** Streams of one HTTP/2 connection. */
  readonly connectionStreams: number;
  /** How long an HTTP/2 connection may be without a call. */
  readonly connectionIdleMs: number;
  /** How long a connection takes new calls. */
  readonly connectionAgeMs: number;
}

/** What a request may have beyond a body by HTTP: the API's own checks name the exact limit. */
export const GRPC_EXTRA_BYTES = 1024 * 1024;

const SHARED: SharedLimits = {
  inFlightCalls: 1024,
  watchers: 4096,
  connections: 8192,
  bufferedBytes: 256 * 1024 * 1024,
};

export const DEFAULT_LOAD: LoadLimits = {
  ...SHARED,
  perKey: {
    inFlightCalls: half(SHARED.inFlightCalls),
    watchers: half(SHARED.watchers),
    connections: half(SHARED.connections),
    bufferedBytes: quarter(SHARED.bufferedBytes),
  },
  unaryDeadlineMs: 30_000,
  bodyBytes: 8 * 1024 * 1024,
  bodyTimeoutMs: 60_000,
  connectionStreams: 256,
  connectionIdleMs: 300_000,
  connectionAgeMs: 3_600_000,
};

/** The store, its files and other connections of this process need descriptors, too. */
const CONNECTIONS_SHARE = 3 / 4;

/** The flags of these limits. Those of one key are half, or a quarter of the memory, of what the process may have, unless they are given. */
export function loadFlags(): Option[] {
  const { unaryDeadlineMs, bodyBytes, bodyTimeoutMs, connectionIdleMs, connectionAgeMs } = DEFAULT_LOAD;
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
    flag("--call-timeout-ms <n>", "longest a call may take").default(unaryDeadlineMs).argParser(positive),
    flag("--max-body-bytes <n>", "largest request body").default(bodyBytes).argParser(positive),
    flag("--body-timeout-s <n>", "longest a request body may take")
      .default(bodyTimeoutMs / 1000)
      .argParser(positive),
    flag("--connection-idle-s <n>", "seconds that an HTTP/2 connection may be without a call")
      .default(connectionIdleMs / 1000)
      .argParser(positive),
    flag("--connection-age-s <n>", "seconds after which a connection takes no new calls")
      .default(connectionAgeMs / 1000)
      .argParser(positive),
  ];
}

/** Throws an Error with one clear line when the limits contradict each other. */
export function readLoad(flags: Flags): LoadLimits {
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
  const leastBuffer = bodyBytes + GRPC_EXTRA_BYTES;
  if (Math.min(shared.bufferedBytes, perKey.bufferedBytes) < 2 * leastBuffer) {
    throw new Error(
      `--max-buffered-bytes-per-key must be twice the largest request, ${2 * leastBuffer} bytes, or more`,
    );
  }
  return {
    ...shared,
    perKey,
    unaryDeadlineMs: flags.callTimeoutMs as number,
    bodyBytes,
    bodyTimeoutMs: (flags.bodyTimeoutS as number) * 1000,
    connectionStreams: DEFAULT_LOAD.connectionStreams,
    connectionIdleMs: (flags.connectionIdleS as number) * 1000,
    connectionAgeMs: (flags.connectionAgeS as number) * 1000,
  };
}

/** How many connections a process may have that may open so many files; undefined when nobody knows. */
export function connectionsFor(openFiles: number | undefined): number {
  if (openFiles === undefined) return SHARED.connections;
  return Math.max(1, Math.min(SHARED.connections, Math.floor(openFiles * CONNECTIONS_SHARE)));
}

/** Node tells it in reports only. */
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
