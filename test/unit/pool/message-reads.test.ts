import { beforeEach, describe, expect, it } from "vitest";
import type { ChatMessage } from "../../../src/domain/chat-message.js";
import { DomainError, NotImplementedError, notFound } from "../../../src/domain/errors.js";
import { RootPool } from "../../../src/pool/root-pool.js";
import type { SessionPool } from "../../../src/pool/session-pool.js";
import { type GetMessagesOptions, StorageProvider } from "../../../src/storage/storage-provider.js";
import { idsOf, numbered, pages, refusal, T0 } from "../../contract/storage-provider/fixtures.js";

/** A provider that implements only getSessionMessages. It answers with `respond`, and records the options. */
class ReadingProvider extends StorageProvider {
  readonly asked: (GetMessagesOptions | undefined)[] = [];
  respond: (options: GetMessagesOptions | undefined) => readonly ChatMessage[] = () => all;

  override async getSessionMessages(sessionId: string, options?: GetMessagesOptions) {
    this.asked.push(options);
    if (sessionId !== "s") throw notFound("Session", sessionId);
    return this.respond(options);
  }
}

const all: readonly ChatMessage[] = numbered(5).map((id, i) => ({
  id,
  sessionId: "s",
  role: "user",
  timestampMicros: T0 + i,
  parts: [],
}));

let provider: ReadingProvider;
let sessions: SessionPool;
let warnings: string[];

beforeEach(() => {
  provider = new ReadingProvider();
  warnings = [];
  const logger = { warn: (_: object, text: string) => warnings.push(text) };
  sessions = new RootPool({ storage: provider, logger }).sessions;
});

const read = async (options?: GetMessagesOptions) => idsOf(await sessions.getMessages("s", options));

/** Makes the provider fail with this error when it is given a limit or an offset. */
function refuses(error: Error): void {
  provider.respond = (options) => {
    if (options !== undefined) throw error;
    return all;
  };
}

it("tells the provider what the caller may see in every read, also in those that compute an answer", async () => {
  const access = { owner: "ada" };
  provider.respond = (options) => {
    if (options?.limit !== undefined) throw new NotImplementedError("ReadingProvider", "limits");
    return all;
  };
  await read({ limit: 2, access });
  await read({ limit: 2, offset: 1, access });
  await sessions.getMessage("s", "m1", { access });
  await sessions.getMessageCount("s", { access });
  await sessions.getSession("s", { access });
  await sessions.loadSession("s", { limit: 2, access });
  await sessions.listMessages("s", { limit: 2, access });
  expect(provider.asked.length).toBeGreaterThan(7);
  for (const options of provider.asked) expect(options).toMatchObject({ access });
});

describe("getMessages", () => {
  it("passes the limit on and uses the answer", async () => {
    provider.respond = (options) => all.slice(-(options?.limit ?? 0));
    expect(await read({ limit: 2 })).toEqual(["m4", "m5"]);
    expect(provider.asked).toMatchObject([{ limit: 2 }]);
    expect(warnings).toEqual([]);
  });

  it("keeps the last messages of an answer that is longer than the limit", async () => {
    expect(await read({ limit: 2 })).toEqual(["m4", "m5"]);
    expect(await read({ limit: 5 })).toEqual(numbered(5));
    expect(provider.asked).toHaveLength(2);
  });

  it("asks again without a limit after NotImplementedError, and keeps the last messages", async () => {
    refuses(new NotImplementedError("ReadingProvider", "limits"));
    expect(await read({ limit: 2 })).toEqual(["m4", "m5"]);
    expect(await read({ limit: 9 })).toEqual(numbered(5));
    expect(await read()).toEqual(numbered(5));
    expect(provider.asked[1]).toBeUndefined();
    expect(warnings).toEqual([]);
  });

  it("asks again after TypeError, and logs that", async () => {
    refuses(new TypeError("unexpected keyword argument 'limit'"));
    expect(await read({ limit: 2 })).toEqual(["m4", "m5"]);
    expect(warnings).toHaveLength(1);
  });

  it("fails when asking again fails, too", async () => {
    provider.respond = () => {
      throw new TypeError("a bug");
    };
    await expect(read({ limit: 2 })).rejects.toThrow(TypeError);
    expect(warnings).toEqual([]);
    provider.respond = (options) => {
      throw options === undefined ? notFound("Session", "s") : new TypeError("no limit");
    };
    await expect(read({ limit: 2 })).rejects.toMatchObject({ code: "not_found" });
    expect(warnings).toEqual([]);
  });

  it("does not ask again after any other error", async () => {
    refuses(new DomainError("unavailable", "The store is away"));
    await expect(read({ limit: 2 })).rejects.toMatchObject({ code: "unavailable" });
    refuses(new Error("a bug"));
    await expect(read({ limit: 2 })).rejects.toThrow("a bug");
    expect(provider.asked).toHaveLength(2);
  });

  it("keeps include_ancestors when it asks again", async () => {
    provider.respond = (options) => {
      if (options?.limit !== undefined) throw new NotImplementedError("ReadingProvider", "limits");
      return all;
    };
    await read({ limit: 2, includeAncestors: true });
    expect(provider.asked[1]).toEqual({ includeAncestors: true });
  });

  it.each([
    ["ignores it", () => {}],
    ["refuses it", () => refuses(new NotImplementedError("ReadingProvider", "offsets"))],
  ])("skips the offset itself when the provider %s", async (_, prepare) => {
    prepare();
    expect(await read({ limit: 2, offset: 0 })).toEqual(["m1", "m2"]);
    expect(await read({ limit: 2, offset: 1 })).toEqual(["m2", "m3"]);
    expect(await read({ limit: 9, offset: 4 })).toEqual(["m5"]);
    expect(await read({ offset: 3 })).toEqual(["m4", "m5"]);
    expect(await read({ offset: 9 })).toEqual([]);
  });

  it("skips the offset itself when the provider only supports limits", async () => {
    provider.respond = (options) => (options?.limit === undefined ? all : all.slice(-options.limit));
    expect(await read({ limit: 2, offset: 0 })).toEqual(["m1", "m2"]);
    expect(await read({ limit: 2, offset: 1 })).toEqual(["m2", "m3"]);
  });

  it("uses the answer of a provider that supports offsets, and asks once", async () => {
    provider.respond = ({ offset = 0, limit } = {}) =>
      all.map((message, position) => ({ ...message, position })).slice(offset, offset + (limit ?? 9));
    expect(await read({ limit: 2, offset: 1 })).toEqual(["m2", "m3"]);
    expect(await read({ limit: 2, offset: 9 })).toEqual([]);
    expect(provider.asked).toHaveLength(2);
  });

  it.each([{ limit: 0 }, { limit: -1 }, { limit: 1.5 }, { offset: -1 }, { offset: Number.NaN }])(
    "refuses %o",
    async (options) => {
      await expect(read(options)).rejects.toMatchObject({ code: "invalid_argument" });
      expect(provider.asked).toEqual([]);
    },
  );

  it("ends with its call, even when it had to ask again", async () => {
    await expect(read({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "canceled" });
    const gone = new AbortController();
    provider.respond = (options) => {
      if (options !== undefined) throw new NotImplementedError("ReadingProvider", "limits");
      gone.abort();
      return all;
    };
    await expect(read({ limit: 1, signal: gone.signal })).rejects.toMatchObject({ code: "canceled" });
  });
});

describe("an operation that a provider lacks and other reads replace", () => {
  it("is computed for the count, a message and the session", async () => {
    expect(await sessions.getMessageCount("s")).toBe(5);
    expect(await sessions.getMessage("s", "m2")).toEqual(all[1]);
    expect(await sessions.getMessage("s", "m9")).toBeNull();
    expect(await sessions.getSession("s")).toMatchObject({
      sessionId: "s",
      messageCount: 5,
      createTimeMicros: T0,
      updateTimeMicros: T0 + 4,
    });
  });

  it("is computed for pages, in both directions", async () => {
    const list = (options: object) => pages(sessions as never, "s", { limit: 2, ...options });
    expect(await list({})).toEqual([["m1", "m2"], ["m3", "m4"], ["m5"]]);
    expect(await list({ newestFirst: true })).toEqual([["m5", "m4"], ["m3", "m2"], ["m1"]]);
    expect(await list({ offset: 3 })).toEqual([["m4", "m5"]]);
    expect(await list({ sinceMicros: T0 + 1, untilMicros: T0 + 4 })).toEqual([["m2", "m3"], ["m4"]]);
  });

  it("is computed for the session with its last messages, and for those before them", async () => {
    const loaded = await sessions.loadSession("s", { limit: 2 });
    expect([loaded.session.messageCount, idsOf(loaded.messages)]).toEqual([5, ["m4", "m5"]]);
    const older = await sessions.loadSession("s", { limit: 9, cursor: loaded.next });
    expect([idsOf(older.messages), older.next]).toEqual([["m1", "m2", "m3"], undefined]);
  });

  it("limits pages by bytes, but returns at least one message", async () => {
    sessions = new RootPool({ storage: provider, limits: { pageBytes: 60 } }).sessions;
    const sizes = (await pages(sessions as never, "s", { limit: 100 })).map(({ length }) => length);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(5);
    expect(Math.max(...sizes)).toBeLessThan(5);
    sessions = new RootPool({ storage: provider, limits: { pageBytes: 1 } }).sessions;
    expect(await pages(sessions as never, "s", { limit: 100 })).toHaveLength(5);
  });

  it("refuses cursors of another list, of another session or of a message that is gone", async () => {
    const { next } = await sessions.listMessages("s", { limit: 2 });
    const refused = sessions.listMessages("s", { limit: 2, cursor: next, newestFirst: true });
    await refusal(refused, "invalid_argument");
    const foreign = { ...next, sessionUid: "t" } as typeof next;
    await refusal(sessions.listMessages("s", { limit: 2, cursor: foreign }), "invalid_argument");
    await refusal(sessions.listMessages("s", { limit: 2, cursor: next, offset: 1 }), "invalid_argument");
    provider.respond = () => all.filter(({ id }) => id !== "m2");
    await refusal(sessions.listMessages("s", { limit: 2, cursor: next }), "failed_precondition");
  });

  it("continues after a cursor's message, whatever was appended", async () => {
    const { next } = await sessions.listMessages("s", { limit: 2, newestFirst: true });
    provider.respond = () => [...all, { ...(all[4] as ChatMessage), id: "m6" }];
    const page = await sessions.listMessages("s", { limit: 9, newestFirst: true, cursor: next });
    expect(idsOf(page.messages)).toEqual(["m3", "m2", "m1"]);
  });

  it("fails with not_found for a session that the provider does not know", async () => {
    await refusal(sessions.getMessageCount("t"), "not_found");
    await refusal(sessions.getMessage("t", "m1"), "not_found");
    await refusal(sessions.getSession("t"), "not_found");
    await refusal(sessions.listMessages("t", { limit: 1 }), "not_found");
    await refusal(sessions.loadSession("t", { limit: 1 }), "not_found");
  });
});

describe("an operation that a provider lacks and nothing replaces", () => {
  it("raises an error that names its class", async () => {
    const changes = [
      sessions.appendMessage("s", { role: "user", parts: [] }),
      sessions.truncateMessages("s", "m1"),
      sessions.copyMessages("s", "t"),
      sessions.createSession(),
      sessions.updateSession("s", { title: "t" }),
      sessions.deleteSession("s"),
      sessions.forkSession("s"),
      sessions.shareSession("s"),
      sessions.revertSession("s", "m1"),
      sessions.unrevertSession("s"),
      sessions.listSessions({ limit: 1 }),
      sessions.followMessages("s", undefined),
    ];
    for (const change of changes) {
      const error = await refusal(change, "unimplemented");
      expect(error).toBeInstanceOf(NotImplementedError);
      expect(error.message).toContain("ReadingProvider");
    }
    expect(sessions.turnLock.size).toBe(0);
  });
});
