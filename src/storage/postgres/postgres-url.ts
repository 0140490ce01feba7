import { invalidArgument } from "../../domain/errors.js";

const DEFAULT_SCHEMA = "session_pool";
const DEFAULT_CONNECTIONS = 16;
const MOST_CONNECTIONS = 1000;
/** PostgreSQL cuts longer names, which would make two of them one. */
const MOST_SCHEMA_BYTES = 63;

/** What a storage URL says. */
export interface PostgresUrl {
  /** The URL without the parameters that are ours, for the driver. */
  readonly driverUrl: string;
  /** Without user, password and parameters, for the start line and logs. */
  readonly name: string;
  /** The schema that holds the tables. */
  readonly schema: string;
  /** Whether statements are prepared by name, which not every pooler allows. */
  readonly prepare: boolean;
  /** Where to listen for what other processes write: a URL, or null not to. */
  readonly listenUrl: string | null;
  /** The most connections of the pool. */
  readonly connections: number;
}

const OURS: ReadonlySet<string> = new Set(["schema", "prepare", "listen", "connections"]);

/**
 * Reads `postgres://user:password@host:port/database?…`. Parameters other than `schema`, `prepare`, `listen` and
 * `connections` are the driver's. `invalid_argument`: it cannot be read; the text repeats nothing of it.
 */
export function readPostgresUrl(url: string): PostgresUrl {
  const parsed = parse(url);
  const { searchParams } = parsed;
  for (const name of OURS) {
    if (searchParams.getAll(name).length > 1) throw invalidArgument(`The PostgreSQL URL gives ${name} more than once`);
  }
  const [base = "", query = ""] = url.split(/\?(.*)/s);
  const rest = pairsOf(query).filter((pair) => !OURS.has(decodeURIComponent(pair.split("=")[0] ?? "")));
  const driverUrl = rest.length === 0 ? base : `${base}?${rest.join("&")}`;
  const schema = schemaOf(searchParams.get("schema"));
  const shown = schema === DEFAULT_SCHEMA ? "" : `?schema=${encodeURIComponent(schema)}`;
  return {
    driverUrl,
    name: `postgres://${searchParams.get("host") ?? (parsed.host || "localhost")}${parsed.pathname}${shown}`,
    schema,
    prepare: booleanOf("prepare", searchParams.get("prepare")),
    listenUrl: listenUrlOf(searchParams.get("listen"), driverUrl),
    connections: connectionsOf(searchParams.get("connections")),
  };
}

function parse(url: string): URL {
  const [, authority = ""] = /^[a-z]+:\/\/([^/?#]*)/.exec(url) ?? [];
  const parsed = parsedOf(url);
  const hosts = [authority.slice(authority.lastIndexOf("@") + 1), parsed?.searchParams.get("host") ?? ""];
  if (hosts.some((host) => host.includes(","))) {
    throw invalidArgument(
      "The PostgreSQL URL names several hosts, but the driver takes one: name a proxy or a DNS name that follows the primary",
    );
  }
  if (parsed) return parsed;
  throw invalidArgument(
    "The PostgreSQL URL cannot be read: write postgres://user:password@host:5432/database, with %-escapes in the password",
  );
}

/**
 * Null for what is no URL, and for what is one only because a password without escapes seems to be a port, a path, a
 * query or a fragment. It would be shown then, or the driver would read another one.
 */
function parsedOf(url: string): URL | null {
  try {
    decodeURIComponent(url);
    // A user without a host is no URL, but the driver takes it: the host is a parameter then.
    const parsed = new URL(url.replace(/^([a-z]+:\/\/[^/?#]*@)(?=[/?])/, "$1localhost"));
    const isWhole = pairsOf(parsed.search.slice(1)).every((pair) => pair.includes("="));
    return /[\s#]/.test(url) || parsed.pathname.includes("@") || !isWhole ? null : parsed;
  } catch {
    // The cause would repeat the URL, which may hold a password.
    return null;
  }
}

function pairsOf(query: string): string[] {
  return query.split("&").filter((pair) => pair !== "");
}

function schemaOf(text: string | null): string {
  if (text === null) return DEFAULT_SCHEMA;
  checkSchemaName(text);
  return text;
}

/** Checks the name of a schema. A `$` could end the text of a function. `invalid_argument`: it cannot be used. */
export function checkSchemaName(name: string): void {
  const isBad = name === "" || /^pg_/i.test(name) || name.includes("\u0000") || name.includes("$");
  if (!isBad && Buffer.byteLength(name) <= MOST_SCHEMA_BYTES) return;
  throw invalidArgument(
    `The name of a PostgreSQL schema must be 1 to ${MOST_SCHEMA_BYTES} bytes long, without $, and must not begin with pg_`,
  );
}

function booleanOf(name: string, text: string | null): boolean {
  if (text === null || text === "false") return false;
  if (text === "true") return true;
  throw invalidArgument(`${name} in the PostgreSQL URL must be true or false`);
}

function listenUrlOf(text: string | null, driverUrl: string): string | null {
  if (text === null) return driverUrl;
  if (text === "off") return null;
  if (/^postgres(ql)?:\/\//.test(text)) {
    parse(text);
    return text;
  }
  throw invalidArgument("listen in the PostgreSQL URL must be off or a postgres:// URL");
}

function connectionsOf(text: string | null): number {
  if (text === null) return DEFAULT_CONNECTIONS;
  const count = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= MOST_CONNECTIONS) return count;
  throw invalidArgument(`connections in the PostgreSQL URL must be a number from 1 to ${MOST_CONNECTIONS}`);
}

/** A name as SQL writes it. */
export function quoted(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`;
}
