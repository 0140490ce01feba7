import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { PIECE_BYTES } from "../../src/domain/attachment.js";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import type { MongoLogDatabase } from "../../src/storage/mongodb/mongo-log-database.js";
import { commandsOf } from "../support/mongo-commands.js";
import { openMongoDatabase } from "../support/mongo-database.js";
import { startMongoServer } from "../support/mongo-server.js";

const server = await startMongoServer();
let database: MongoLogDatabase;
let provider: LogHistoryProvider;

beforeAll(async () => {
  if (server) database = await openMongoDatabase(server);
});
afterAll(async () => {
  await database?.close();
  await server?.stop();
});

const message = (id?: string) => ({ id, role: "user", parts: [{ id: "", type: "text", text: "hello" }] });
const messages = (count: number) => Array.from({ length: count }, () => message());

/** The number of commands that each operation sends to the server. docs/history.md has the same numbers in a table. */
describe.skipIf(!server)("round trips", () => {
  let names = 0;
  let session = "";

  beforeEach(async () => {
    // The update times that are written a second later, for all sessions together, are not counted.
    provider = new LogHistoryProvider(database.namespace("default"), { touchDelayMs: Number.POSITIVE_INFINITY });
    session = `s${++names}`;
    await provider.createSession({ sessionId: session });
    await provider.logMessages(session, ["a", "b", "c", "d"].map(message));
  });
  afterEach(() => provider.close());

  async function sentBy(work: () => Promise<unknown>): Promise<readonly string[]> {
    return (await commandsOf(database.client, work)).map(({ name }) => name);
  }

  it("of an append are 1, and of a batch of 100 too", async () => {
    expect(await sentBy(() => provider.logMessages(session, [message()]))).toEqual(["insert"]);
    expect(await sentBy(() => provider.logMessages(session, [message("own")]))).toEqual(["insert"]);
    expect(await sentBy(() => provider.logMessages(session, messages(100)))).toEqual(["insert"]);
  });

  it("of an append with the caller's id to a fork are 2", async () => {
    const fork = `${session}-fork`;
    await provider.forkConversation(session, fork, { as: "fork" });
    await provider.logMessages(fork, [message()]);
    expect(await sentBy(() => provider.logMessages(fork, [message("own")]))).toEqual(["find", "insert"]);
  });

  it("of an upload are 2 for each further piece, and of a download 1 for each", async () => {
    const upload = (pieces: number) => provider.uploadAttachment(session, {}, inPieces(pieces));
    const [one, three] = [await sentBy(() => upload(1)), await sentBy(() => upload(3))];
    expect(three).toHaveLength(one.length + 4);
    const { attachmentId } = await upload(3);
    const read = async (length: number) => {
      const { pieces } = await provider.getAttachment(session, attachmentId, { length });
      for await (const piece of pieces) expect(piece.length).toBeGreaterThan(0);
    };
    const [first, all] = [await sentBy(() => read(1)), await sentBy(() => read(3 * PIECE_BYTES))];
    expect(all).toHaveLength(first.length + 2);
  });

  it("of list, count and get are 2, of newest first 3", async () => {
    expect(await sentBy(() => provider.getMessageCount(session))).toHaveLength(2);
    expect(await sentBy(() => provider.getMessage(session, "b"))).toHaveLength(2);
    expect(await sentBy(() => provider.listMessages(session, { limit: 2, offset: 0 }))).toHaveLength(2);
    const newest = await sentBy(() => provider.listMessages(session, { limit: 2, newestFirst: true }));
    expect(newest.length).toBeLessThanOrEqual(3);
  });

  it("of a fork are 3", async () => {
    const forks = await sentBy(() => provider.forkConversation(session, `${session}-fork`, { as: "fork" }));
    expect(forks).toHaveLength(3);
  });

  it("of truncate and revert are 5, of unrevert 4, and of delete 6", async () => {
    expect((await sentBy(() => provider.truncateMessages(session, "c"))).length).toBeLessThanOrEqual(5);
    const revert = () => provider.truncateMessages(session, "b", { keepForUnrevert: true });
    expect((await sentBy(revert)).length).toBeLessThanOrEqual(5);
    expect((await sentBy(() => provider.restoreMessages(session))).length).toBeLessThanOrEqual(4);
    expect((await sentBy(() => provider.deleteSession(session))).length).toBeLessThanOrEqual(6);
  });
});

async function* inPieces(count: number): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < count; i++) yield Buffer.alloc(PIECE_BYTES);
}
