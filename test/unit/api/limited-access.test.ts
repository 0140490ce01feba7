import { create, type DescMethod, type Message } from "@bufbuild/protobuf";
import { describe, expect, it, vi } from "vitest";
import { limitStream, limitUnary, mapEach } from "../../../src/api/limited-access.js";
import { API_METHODS, type ApiContext } from "../../../src/api/method-table.js";
import type { Access } from "../../../src/domain/access.js";

const TICKET: Access = { ticket: { sessionId: "s", uid: "u", generation: 0 } };
const DENIED = expect.objectContaining({ code: "permission_denied" });

function methodOf(name: string): DescMethod {
  return API_METHODS.find(({ desc }) => desc.name === name)!.desc;
}

function contextWith(access: Access | undefined): ApiContext {
  const visibleSessions = async () => new Set<string>();
  return { access, rootPool: { sessions: { visibleSessions } } } as unknown as ApiContext;
}

function requestOf(desc: DescMethod, fields: object): Message {
  return create(desc.input, fields as never) as Message;
}

describe("a unary call", () => {
  const desc = methodOf("GetSession");
  const answer = { $typeName: "sessionpool.v1.Session", sessionId: "s", parentId: "p" } as unknown as Message;

  it("of a caller without limits gets the handler's own promise", () => {
    const promise = Promise.resolve(answer);
    const limited = limitUnary(desc, () => promise);
    expect(limited(requestOf(desc, { sessionId: "s" }), contextWith(undefined))).toBe(promise);
  });

  it("of a bound caller gets no ids that it may not see", async () => {
    const limited = limitUnary(desc, async () => answer);
    const context = contextWith({ owner: "ada" });
    expect(await limited(requestOf(desc, { sessionId: "s" }), context)).toMatchObject({ sessionId: "s", parentId: "" });
  });

  it("with a ticket is refused for another session, before anything is done", async () => {
    const handle = vi.fn(async () => answer);
    const limited = limitUnary(desc, handle);
    for (const fields of [{ sessionId: "t" }, {}]) {
      await expect(limited(requestOf(desc, fields), contextWith(TICKET))).rejects.toThrow(DENIED);
    }
    const list = methodOf("ListSessions");
    await expect(limitUnary(list, handle)(requestOf(list, {}), contextWith(TICKET))).rejects.toThrow(DENIED);
    expect(handle).not.toHaveBeenCalled();
    await limited(requestOf(desc, { sessionId: "s" }), contextWith(TICKET));
    expect(handle).toHaveBeenCalledOnce();
  });
});

describe("a stream", () => {
  const desc = methodOf("WatchMessages");

  it("of a bound caller gets no ids that it may not see, in any event", async () => {
    const info = { $typeName: "sessionpool.v1.MessageInfo", originSessionId: "p" };
    const message = { $typeName: "sessionpool.v1.MessageWithParts", info, parts: [] };
    const event = { $typeName: desc.output.typeName, event: { case: "appended", value: message } };
    const limited = limitStream(desc, async () => from([event, event] as never));
    const stream = await limited(requestOf(desc, { sessionId: "s" }), contextWith({ owner: "ada" }));
    const seen: unknown[] = [];
    for await (const one of stream) seen.push(one);
    expect(seen).toMatchObject([1, 2].map(() => ({ event: { value: { info: { originSessionId: "" } } } })));
  });

  it("with a ticket is refused for another session, and without limits is the handler's own", async () => {
    const stream = Promise.resolve(from<Message>([]));
    const limited = limitStream(desc, () => stream);
    await expect(limited(requestOf(desc, { sessionId: "t" }), contextWith(TICKET))).rejects.toThrow(DENIED);
    expect(limited(requestOf(desc, { sessionId: "t" }), contextWith(undefined))).toBe(stream);
  });
});

it("mapEach ends its source even when nothing was read from it", async () => {
  const end = vi.fn(async () => ({ done: true, value: undefined }) as const);
  const source = { [Symbol.asyncIterator]: () => ({ next: end, return: end }) };
  await mapEach(source, (item) => item)
    [Symbol.asyncIterator]()
    .return?.();
  expect(end).toHaveBeenCalledOnce();
});

async function* from<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}
