import { randomInt } from "node:crypto";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { BACKUP_LIMITS } from "../../../../src/commands/transfer/file-shapes.js";
import { DEFAULT_LIMITS } from "../../../../src/domain/limits.js";
import { checkIndexedLimits } from "../../../../src/storage/postgres/indexed-limits.js";
import { entry, record } from "../../../contract/log-store/fixtures.js";
import { openPostgresDatabase } from "../../../support/postgres-database.js";
import { startPostgresServer } from "../../../support/postgres-server.js";

const server = await startPostgresServer({ fast: true });
afterAll(() => server?.stop());

it.each([
  [{}],
  [{ idBytes: 512, labelKeyBytes: 1498, labelValueBytes: 1 }],
  [{ idBytes: 512, labelKeyBytes: 2, labelValueBytes: 749 }],
  // Those of an import.
  [BACKUP_LIMITS],
])("the indexes have room for %j", (limits) => {
  expect(() => checkIndexedLimits(limits)).not.toThrow();
});

it.each([
  [{ idBytes: 513 }, "--limit-id-bytes is 513"],
  [{ labelKeyBytes: 1499, labelValueBytes: 1 }, "are 1501 together"],
  [{ labelKeyBytes: 1, labelValueBytes: 750 }, "are 1501 together"],
])("the indexes have no room for %j", (limits, text) => {
  expect(() => checkIndexedLimits(limits)).toThrow(text);
  expect(() => checkIndexedLimits({ ...DEFAULT_LIMITS, ...limits })).toThrow(text);
});

describe.skipIf(!server)("with a server", () => {
  it("indexes hold the longest texts of the highest limits, in the longest namespace", async () => {
    const database = await openPostgresDatabase(server, { search: true });
    onTestFinished(() => database.close());
    const store = database.namespace(incompressible(512));
    const [id, parentId] = [incompressible(512), incompressible(512)];
    const labels = { [incompressible(1496)]: "\u0000" };
    expect(await store.createRecord(record("u", { sessionId: id, parentId, labels }))).toBe("created");
    expect(await store.append("u.1", 1, [entry("u.1", 1, { id: incompressible(512) })])).toBe(1);
    expect(await store.replaceTodos([], 0)).toBe(true);
  });

  it("a longer id is refused, so the limit is needed", async () => {
    const database = await openPostgresDatabase(server);
    onTestFinished(() => database.close());
    const store = database.namespace(incompressible(512));
    const [sessionId, parentId] = [incompressible(1200), incompressible(1200)];
    const creating = store.createRecord(record("u", { sessionId, parentId }));
    await expect(creating).rejects.toMatchObject({ code: "invalid_argument" });
  });
});

/** A text of so many bytes of UTF-8, a multiple of four, in which PostgreSQL finds nothing to compress. */
function incompressible(bytes: number): string {
  return Array.from({ length: bytes / 4 }, () => String.fromCodePoint(randomInt(0x10000, 0x110000))).join("");
}
