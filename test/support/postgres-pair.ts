import { type Address, startAddress } from "./moving-address.js";
import { poll } from "./poll.js";
import { type OwnPostgresServer, type PostgresOptions, query, startOwnPostgresServer } from "./postgres-server.js";

const SYNCHRONOUS = { synchronous_standby_names: "ANY 1 (*)" };
/** Keeps what a standby has missed while it was cut off. */
const KEEP = { wal_keep_size: "256MB" };

/** A primary and its hot standby, which receives everything that the primary commits. */
export interface PostgresPair {
  readonly primary: OwnPostgresServer;
  readonly standby: OwnPostgresServer;
  /** Where clients find the primary. A failover moves it. Open connections stay where they are. */
  readonly address: Address;
  /** The URL of the address. */
  readonly url: string;
  /** Lets the standby receive nothing more. Commits of a synchronous pair wait from then on. */
  cutReplication(): Promise<void>;
  /** Undoes that. Resolves when the standby receives again what the primary commits. */
  resumeReplication(): Promise<void>;
  /** Makes the standby a primary of its own, whether or not the other one is still there. The address stays. */
  promote(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts a pair on this machine. Synchronous: the primary answers a commit when the standby has stored it, too.
 * Resolves to null where there is no PostgreSQL.
 */
export async function startPostgresPair({
  synchronous,
  ...options
}: PostgresOptions & { readonly synchronous: boolean }): Promise<PostgresPair | null> {
  const settings = { ...options.settings, ...KEEP };
  const primary = await startOwnPostgresServer({
    ...options,
    settings: { ...settings, ...(synchronous ? SYNCHRONOUS : {}) },
  });
  if (primary === null) return null;
  const standby = await startOwnPostgresServer({ ...options, settings, standbyOf: primary.url });
  if (standby === null) throw new Error("A primary started and its standby did not");
  const address = await startAddress(primary.process.port);
  const url = new URL(primary.url);
  url.port = String(address.port);

  const replication = () => query(primary.url, "SELECT state, sync_state FROM pg_stat_replication");
  const isReplicating = async () => {
    const [row] = await replication();
    return row?.state === "streaming" && row.sync_state === (synchronous ? "quorum" : "async");
  };
  await poll(isReplicating, "the standby receives what the primary commits");
  return {
    primary,
    standby,
    address,
    url: url.href,
    async cutReplication() {
      await query(standby.url, "ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()");
      await poll(async () => (await replication()).length === 0, "the standby is cut off");
    },
    async resumeReplication() {
      await query(standby.url, "ALTER SYSTEM RESET primary_conninfo", "SELECT pg_reload_conf()");
      await poll(isReplicating, "the standby receives what the primary commits");
    },
    async promote() {
      const [row] = await query(standby.url, "SELECT pg_promote() AS promoted");
      if (row?.promoted !== true) throw new Error("The standby was not promoted");
    },
    async stop() {
      await address.close();
      await Promise.all([primary.stop(), standby.stop()]);
    },
  };
}
