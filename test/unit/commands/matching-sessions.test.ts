import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { changeMatching, countMatching } from "../../../src/commands/matching-sessions.js";
import { DomainError } from "../../../src/domain/errors.js";
import { RootPool } from "../../../src/pool/root-pool.js";
import { MemoryStorageProvider } from "../../../src/storage/memory/memory-storage-provider.js";

const FILTER = { owner: "", labels: ["team=ops"] };
const BAR = { what: "Changing", count: 1 };

let pool: RootPool;
beforeEach(() => {
  pool = new RootPool({ storage: new MemoryStorageProvider() });
});
afterEach(() => pool.close());

const create = (sessionId: string, given: object = {}) =>
  pool.sessions.createSession({ sessionId, labels: { team: "ops" }, ...given });

const assign = async ({ sessionId, revision }: { readonly sessionId: string; readonly revision: number }) => {
  await pool.sessions.updateSession(sessionId, { owner: "ada" }, { expectedRevision: revision });
};

const ownerOf = async (sessionId: string) => (await pool.sessions.getSession(sessionId)).owner;

describe("sessions that match", () => {
  it("are all counted and changed, although each change moves its session to the front of the list", async () => {
    await Promise.all(Array.from({ length: 2300 }, (_, i) => create(`s${i}`)));
    await create("bob's", { owner: "bob" });
    await create("other", { labels: { team: "dev" } });
    expect(await countMatching(pool.sessions, FILTER)).toBe(2300);
    expect(await changeMatching(pool.sessions, FILTER, assign, BAR)).toEqual({ changed: 2300, left: 0 });
    expect(await countMatching(pool.sessions, { owner: "ada" })).toBe(2300);
    expect([await ownerOf("bob's"), await ownerOf("other")]).toEqual(["bob", undefined]);
  });

  it("are left alone when they get an owner or are deleted meanwhile, and changed when they are only renamed", async () => {
    for (const id of ["taken", "deleted", "renamed"]) await create(id);
    const disturb = async () => {
      await pool.sessions.updateSession("taken", { owner: "bob" });
      await pool.sessions.updateSession("renamed", { title: "New" });
      await pool.sessions.deleteSession("deleted");
    };
    let disturbed: Promise<void> | undefined;
    const late = async (session: Awaited<ReturnType<typeof create>>) => {
      disturbed ??= disturb();
      await disturbed;
      await assign(session);
    };
    expect(await changeMatching(pool.sessions, FILTER, late, BAR)).toEqual({ changed: 1, left: 2 });
    expect([await ownerOf("taken"), await ownerOf("renamed")]).toEqual(["bob", "ada"]);
    await expect(ownerOf("deleted")).rejects.toMatchObject({ code: "not_found" });
  });

  it("are given up when they change all the time, and other errors are passed on", async () => {
    await create("s");
    const aborted = () => Promise.reject(new DomainError("aborted", "Changed"));
    await expect(changeMatching(pool.sessions, FILTER, aborted, BAR)).rejects.toThrow("change all the time");
    const unavailable = () => Promise.reject(new DomainError("unavailable", "Gone"));
    await expect(changeMatching(pool.sessions, FILTER, unavailable, BAR)).rejects.toThrow("Gone");
  });
});
