import pg from "pg";
import { afterAll, describe, expect, it } from "vitest";
import { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { created, entry } from "../contract/log-store/fixtures.js";
import { schemaOf } from "../support/postgres-database.js";
import { freshSchemaUrl, startOwnPostgresServer } from "../support/postgres-server.js";

const MESSAGES = 150;
const END_BACKENDS = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE application_name LIKE 'session-pool%' AND random() < 0.3`;

const server = await startOwnPostgresServer({ fast: true });
afterAll(() => server?.stop());

describe.skipIf(!server)("a process on PostgreSQL", () => {
  it("reads what others have stored, while its writes wait for a lock and connections are ended", async () => {
    const url = freshSchemaUrl(server!);
    const [ours, theirs] = [await PostgresLogDatabase.connect(url), await PostgresLogDatabase.connect(url)];
    const [own, other] = [ours.namespace("default"), theirs.namespace("default")];
    await created(own, "locked");
    await created(other, "s");
    const locker = new pg.Client(server!.url);
    await locker.connect();
    await locker.query("BEGIN");
    await locker.query(`SELECT FROM ${schemaOf(ours)}.sessions WHERE uid = 'locked' FOR UPDATE`);
    const waiting = Array.from({ length: 20 }, (_, i) =>
      own.append("locked.1", 1, [entry("locked.1", 1, { id: `w${i}` })]),
    );
    const missed: number[] = [];
    for (let seq = 1; seq <= MESSAGES; seq++) {
      if (seq % 10 === 0) await locker.query(END_BACKENDS);
      expect(await other.append("s.1", seq, [entry("s.1", seq)])).toBe(1);
      const tails = await Promise.all(Array.from({ length: 3 }, () => own.tail("s.1")));
      missed.push(...tails.map(({ last }) => last?.seq ?? 0).filter((last) => last < seq));
    }
    expect(missed).toEqual([]);
    await locker.query("ROLLBACK");
    // One of them has found the place free.
    expect((await Promise.all(waiting)).filter((stored) => stored === 1)).toHaveLength(1);
    await locker.end();
    await ours.close();
    await theirs.close();
  });
});
