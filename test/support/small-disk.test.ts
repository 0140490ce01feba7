import { afterAll, expect, it } from "vitest";
import { query, startOwnPostgresServer } from "./postgres-server.js";
import { canMount, fillDisk, freeDisk } from "./small-disk.js";

const server = (await canMount()) ? await startOwnPostgresServer({ diskMegabytes: 100 }) : null;
afterAll(() => server?.stop());

it.skipIf(server === null)(
  "a server on a small disk refuses what does not fit, until there is room again",
  async () => {
    const { url, process: own } = server!;
    await query(url, "CREATE TABLE kept (text text)", "INSERT INTO kept VALUES ('before')");
    await fillDisk(own.folder);
    const more = "INSERT INTO kept SELECT repeat('x', 1000) FROM generate_series(1, 1000)";
    await expect(query(url, more)).rejects.toMatchObject({ code: "53100" });
    await freeDisk(own.folder);
    await query(url, more);
    expect(await query(url, "SELECT count(*)::int FROM kept")).toEqual([{ count: 1001 }]);
  },
);
