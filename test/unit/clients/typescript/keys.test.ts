import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { Code, ConnectError, createSessionPoolClient, textOf } from "../../../../clients/typescript/src/index.js";
import {
  type WatchMessagesResponse,
  WatchMessagesResponseSchema,
} from "../../../../gen/sessionpool/v1/message_service_pb.js";

type MakeKey = (signal: AbortSignal, refused: string | undefined) => string | Promise<string>;

const BASE = "http://127.0.0.1:1";
const REFUSED = { code: "unauthenticated", message: "The token has expired" };

/** Makes a client of a server that takes only keys of this list. Its requests are in `sent`, in order. */
function clientWith(key: string | MakeKey, valid: readonly string[], retries = 0) {
  const sent: (string | undefined)[] = [];
  const fetch: typeof globalThis.fetch = async (_url, init) => {
    const bearer = /^Bearer (.*)$/.exec(new Headers(init?.headers).get("authorization") ?? "")?.[1];
    sent.push(bearer);
    if (valid.includes(bearer ?? "")) return new Response("", { headers: { "content-type": "application/proto" } });
    return new Response(JSON.stringify(REFUSED), { status: 401, headers: { "content-type": "application/json" } });
  };
  return { sent, client: createSessionPoolClient({ baseUrl: BASE, key, fetch, retries }) };
}

describe("the key of a client", () => {
  it("is asked for once by calls at the same time, and again by the next call", async () => {
    let asked = 0;
    const { client, sent } = clientWith(async () => `key-${++asked}`, ["key-1", "key-2"]);
    await Promise.all([1, 2, 3].map(() => client.sessions.listSessions({})));
    await client.sessions.listSessions({});
    expect(sent).toEqual(["key-1", "key-1", "key-1", "key-2"]);
  });

  it("is renewed when it is refused, once for calls at the same time, and the calls are sent once more", async () => {
    let key = "old";
    const refusals: (string | undefined)[] = [];
    const make: MakeKey = async (_signal, refused) => {
      refusals.push(refused);
      if (key === refused) key = `new-${refusals.length}`;
      return key;
    };
    const { client, sent } = clientWith(make, ["new-2"]);
    // A call that must not be sent twice when it may have been carried out.
    const calls = [1, 2, 3].map(() => client.sessions.revertSession({ sessionId: "s", toStart: true }));
    await Promise.all(calls);
    expect({ sent, refusals }).toEqual({
      sent: ["old", "old", "old", "new-2", "new-2", "new-2"],
      refusals: [undefined, "old"],
    });
  });

  it("is given up when there is no other, or when the other one is refused, too", async () => {
    const same = clientWith(async () => "same", []);
    await expect(same.client.sessions.listSessions({})).rejects.toMatchObject({ rawMessage: REFUSED.message });
    expect(same.sent).toEqual(["same"]);
    let asked = 0;
    const wrong = clientWith(async () => `wrong-${++asked}`, [], 5);
    await expect(wrong.client.sessions.listSessions({})).rejects.toMatchObject({ code: Code.Unauthenticated });
    expect(wrong.sent).toEqual(["wrong-1", "wrong-2"]);
    const fixed = clientWith("fixed", [], 5);
    await expect(fixed.client.sessions.listSessions({})).rejects.toMatchObject({ code: Code.Unauthenticated });
    expect(fixed.sent).toEqual(["fixed"]);
  });

  it("is waited for as long as one call needs it", async () => {
    const stops = [new AbortController(), new AbortController()] as const;
    let signal: AbortSignal | undefined;
    const { client } = clientWith((given) => {
      signal = given;
      return new Promise<string>(() => {});
    }, []);
    const calls = stops.map((stop) => client.sessions.listSessions({}, { signal: stop.signal }));
    stops[0].abort();
    await expect(calls[0]).rejects.toMatchObject({ code: Code.Canceled });
    expect(signal?.aborted).toBe(false);
    stops[1].abort();
    await expect(calls[1]).rejects.toMatchObject({ code: Code.Canceled });
    expect(signal?.aborted).toBe(true);
  });

  it.each([
    [
      "an error of the function",
      () => Promise.reject(new Error("Signed out")),
      Code.Unauthenticated,
      "No key: Signed out",
    ],
    [
      "a programming error",
      () => Promise.reject(new TypeError("x is not a function")),
      Code.Unauthenticated,
      "No key: x is",
    ],
    [
      "a network that fails",
      () => Promise.reject(new TypeError("Failed to fetch")),
      Code.Unavailable,
      "No key: Failed",
    ],
    ["no key", async () => undefined as unknown as string, Code.Unauthenticated, "No key: a key or ticket must be"],
    ["what no header can hold", async () => "a\nb", Code.Unauthenticated, "No key: a key or ticket must be"],
    ["an error with a code", () => Promise.reject(new ConnectError("Busy", Code.Aborted)), Code.Aborted, "Busy"],
  ])("tells %s", async (_name, make: MakeKey, code, message) => {
    const { client, sent } = clientWith(make, []);
    const error = await client.sessions.listSessions({}).catch((thrown: ConnectError) => thrown);
    expect(error).toMatchObject({ code, rawMessage: expect.stringContaining(message) });
    expect(sent).toEqual([]);
  });

  it("is asked for again after a failure", async () => {
    let asked = 0;
    const make = async () => {
      if (++asked === 1) throw new TypeError("fetch failed");
      return "good";
    };
    const { client, sent } = clientWith(make, ["good"], 1);
    await client.sessions.listSessions({});
    expect(sent).toEqual(["good"]);
  });

  it("is renewed when a watch ends because it has expired, and the watch goes on where it was", async () => {
    const keys: string[] = [];
    const bodies: Uint8Array[][] = [
      [event("a"), endWith(REFUSED)],
      [endWith(REFUSED)],
      [event("b"), endWith({ code: "not_found", message: "gone" })],
    ];
    const make: MakeKey = async (_signal, refused) => `${refused ?? ""}+`;
    const fetch: typeof globalThis.fetch = async (_url, init) => {
      keys.push(new Headers(init?.headers).get("authorization") ?? "");
      const body = Buffer.concat(bodies[keys.length - 1] ?? []);
      return new Response(body, { headers: { "content-type": "application/connect+proto" } });
    };
    const client = createSessionPoolClient({ baseUrl: BASE, key: make, fetch });
    const seen: string[] = [];
    const watch = async () => {
      for await (const { event } of client.watch("s", { fromPosition: 0 }))
        if (event.case === "appended") seen.push(textOf(event.value));
    };
    // The second refusal comes before any event, so a third key is not asked for.
    await expect(watch()).rejects.toMatchObject({ rawMessage: REFUSED.message });
    expect({ seen, keys }).toEqual({ seen: ["a"], keys: ["Bearer +", "Bearer ++"] });
    bodies.splice(1, 1);
    keys.length = 0;
    seen.length = 0;
    await expect(watch()).rejects.toMatchObject({ rawMessage: "gone" });
    expect(seen).toEqual(["a", "b"]);
  });
});

describe("the credentials of a client", () => {
  it.each([
    ["a key and a ticket", { baseUrl: BASE, key: "k", ticket: "t" }, "Give a key or a ticket, not both"],
    ["a ticket that no header can hold", { baseUrl: BASE, ticket: "a b" }, "visible ASCII characters"],
    ["an empty key", { baseUrl: BASE, key: "" }, "visible ASCII characters"],
  ])("must not be %s", (_name, options, message) => {
    expect(() => createSessionPoolClient(options)).toThrow(TypeError);
    expect(() => createSessionPoolClient(options)).toThrow(message);
  });

  it("are those of a transport, if one is given", () => {
    const { transport } = { transport: {} as never };
    expect(() => createSessionPoolClient({ transport, ticket: "t" })).toThrow(/beside it, key and ticket need baseUrl/);
  });

  it("may be a ticket, which is sent like a key", async () => {
    const sent: (string | null)[] = [];
    const fetch: typeof globalThis.fetch = async (_url, init) => {
      sent.push(new Headers(init?.headers).get("authorization"));
      return new Response("", { headers: { "content-type": "application/proto" } });
    };
    await createSessionPoolClient({ baseUrl: BASE, ticket: "t", fetch }).messages.countMessages({ sessionId: "s" });
    expect(sent).toEqual(["Bearer t"]);
  });
});

/** A message of Connect's stream. */
function enveloped(flags: number, bytes: Uint8Array): Uint8Array {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

function event(text: string): Uint8Array {
  const value = { info: { id: text, role: "user" }, parts: [{ type: "text", text }] };
  const response: WatchMessagesResponse = create(WatchMessagesResponseSchema, {
    event: { case: "appended", value },
    resumeToken: `after ${text}`,
  });
  return enveloped(0, toBinary(WatchMessagesResponseSchema, response));
}

const endWith = (error: object) => enveloped(2, Buffer.from(JSON.stringify({ error })));
