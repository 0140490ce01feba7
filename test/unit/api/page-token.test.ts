import { crc32 } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decodeMessageToken,
  decodeResumeToken,
  decodeSearchToken,
  decodeSessionToken,
  encodeMessageToken,
  encodeResumeToken,
  encodeSearchToken,
  encodeSessionToken,
} from "../../../src/api/page-token.js";
import type { MessageCursor } from "../../../src/domain/page.js";

const CURSOR: MessageCursor = {
  sessionUid: "uid",
  query: { newestFirst: true, includeAncestors: false, sinceMicros: undefined, untilMicros: 5 },
  log: "uid.1",
  seq: 7,
  messageId: 'm"\u00e9😀/',
};

const decodeSessions = (token: string) => decodeSessionToken(token, { parentId: "" }, { namespace: "default" });

describe("page tokens", () => {
  it("decode to the place in a list of messages that they were made for", () => {
    const time = fc.option(fc.maxSafeInteger(), { nil: undefined });
    const query = { newestFirst: fc.boolean(), includeAncestors: fc.boolean(), sinceMicros: time, untilMicros: time };
    const cursor = fc.record({
      ...{ sessionUid: fc.string(), query: fc.record(query) },
      ...{ log: fc.string(), seq: fc.maxSafeNat(), messageId: fc.string({ unit: "grapheme" }) },
      ancestor: fc.option(fc.nat(), { nil: undefined }),
    });
    fc.assert(
      fc.property(cursor, (place) => {
        expect(decodeMessageToken(encodeMessageToken(place))).toEqual(place);
      }),
    );
  });

  it("decode to a place in a list of sessions, for the same parent only", () => {
    const place = { parentId: "p", key: -3, sessionId: "s" };
    const token = encodeSessionToken(place, { namespace: "default" });
    expect(decodeSessionToken(token, { parentId: "p" }, { namespace: "default" })).toStrictEqual(place);
    expect(() => decodeSessions(token)).toThrow(refusal("page_token belongs to a list with another parent_id"));
  });

  it("decode to a place in a list of sessions with labels, for the same labels only", () => {
    const filter = { parentId: "", labels: ["a=1", "b=2"] };
    const place = { ...filter, key: 3, sessionId: "s" };
    const token = encodeSessionToken(place, { namespace: "default" });
    const sameLabels = { parentId: "", labels: ["b=2", "a=1", "a=1"] };
    expect(decodeSessionToken(token, filter, { namespace: "default" })).toStrictEqual(place);
    expect(decodeSessionToken(token, sameLabels, { namespace: "default" })).toStrictEqual({ ...place, ...sameLabels });
    const other = refusal("page_token belongs to a list of another namespace, label or owner");
    for (const labels of [undefined, [], ["a=1"], ["a=1", "b=3"], ["a=1", "b=2", "c="], ['a=1","b=2']]) {
      expect(() => decodeSessionToken(token, { parentId: "", labels }, { namespace: "default" })).toThrow(other);
    }
    const { labels: _labels, ...unlabeled } = place;
    expect(() =>
      decodeSessionToken(encodeSessionToken(unlabeled, { namespace: "default" }), filter, { namespace: "default" }),
    ).toThrow(other);
  });

  it("decode to a place in a search, for the same search only", () => {
    const filter = { namespace: "n", q: "a", labels: ["a=1", "b=2"], sessionId: "s" };
    const token = encodeSearchToken({ place: "-7" }, filter);
    expect(decodeSearchToken(token, filter)).toStrictEqual({ place: "-7" });
    expect(decodeSearchToken(token, { ...filter, labels: ["b=2", "a=1", "a=1"] })).toStrictEqual({ place: "-7" });
    const other = refusal(
      "page_token belongs to a search with another namespace, q, label, session_id, owner, role, since or until",
    );
    for (const change of [
      { namespace: "N" },
      { q: "A" },
      { sessionId: "" },
      { labels: ["a=1"] },
      { labels: [], sessionId: "s,a=1,b=2" },
      { role: "user" },
      { sinceMicros: 1 },
      { untilMicros: 1 },
    ]) {
      expect(() => decodeSearchToken(token, { ...filter, ...change })).toThrow(other);
    }
    const sessions = encodeSessionToken({ parentId: "", key: 1, sessionId: "s" }, { namespace: "default" });
    expect(() => decodeSearchToken(sessions, filter)).toThrow(refusal("page_token belongs to another list"));
    expect(() => decodeSessions(token)).toThrow(refusal("page_token belongs to another list"));
  });

  it.each([
    [undefined, "default", "n"],
    [undefined, "n", "default"],
    [undefined, "n", "m"],
    [["a=1"], "default", "a=1"],
    [["a=1"], "n", "m"],
    [["n"], "default", "n"],
  ])(
    "decode to a place in a list of sessions with the labels %j of the namespace %s, but not of %s",
    (labels, own, other) => {
      const place = { parentId: "", labels, key: 3, sessionId: "s" };
      const token = encodeSessionToken(place, { namespace: own });
      expect(decodeSessionToken(token, { parentId: "", labels }, { namespace: own })).toStrictEqual(place);
      const refused = refusal("page_token belongs to a list of another namespace, label or owner");
      expect(() => decodeSessionToken(token, { parentId: "", labels }, { namespace: other })).toThrow(refused);
    },
  );

  it("of a list of sessions without labels in the default namespace are the same as in earlier versions", () => {
    const payload = Buffer.from(
      encodeSessionToken({ parentId: "p", key: 1, sessionId: "s" }, { namespace: "default" }),
      "base64url",
    );
    expect(payload.subarray(4).toString()).toBe('[1,"sessions","p",1,"s"]');
  });

  it("decode to the place of a follower", () => {
    const at = { sessionUid: "uid", revision: 3, position: 0 };
    expect(decodeResumeToken(encodeResumeToken(at))).toStrictEqual(at);
  });

  it("are refused unparsed when they are longer than any that was given out", () => {
    const tokenOf = (length: number) => encodeMessageToken({ ...CURSOR, messageId: "m".repeat(length) });
    expect(decodeMessageToken(tokenOf(48_000)).messageId).toHaveLength(48_000);
    expect(() => decodeMessageToken(tokenOf(50_000))).toThrow(NOT_GIVEN_OUT);
  });

  it("contain only characters that need no escaping in a URL", () => {
    expect(encodeMessageToken(CURSOR)).toMatch(/^[A-Za-z0-9_-]+$/);
  });

  it("are refused when any character is changed, missing or added", () => {
    const token = encodeMessageToken(CURSOR);
    for (let i = 0; i < token.length; i++) {
      for (const other of ["A", "B", "_", "9", "="].filter((character) => character !== token[i])) {
        const altered = token.slice(0, i) + other + token.slice(i + 1);
        expect(() => decodeMessageToken(altered)).toThrow(NOT_GIVEN_OUT);
      }
      expect(() => decodeMessageToken(token.slice(0, i) + token.slice(i + 1))).toThrow(NOT_GIVEN_OUT);
    }
    expect(() => decodeMessageToken(`${token}A`)).toThrow(NOT_GIVEN_OUT);
    expect(() => decodeMessageToken(`${token}=`)).toThrow(NOT_GIVEN_OUT);
  });

  it.each(["x", "=", "AAAA", "AAAAAA", "😀", "not a token", "null", "[]"])(
    "are refused when they are garbage such as %j",
    (garbage) => {
      expect(() => decodeMessageToken(garbage)).toThrow(NOT_GIVEN_OUT);
      expect(() => decodeSessions(garbage)).toThrow(NOT_GIVEN_OUT);
      expect(() => decodeResumeToken(garbage)).toThrow(refusal("resume_token is not a token that was given out"));
    },
  );

  it("are refused by lists of another kind", () => {
    const messages = encodeMessageToken(CURSOR);
    const sessions = encodeSessionToken({ parentId: "", key: 1, sessionId: "s" }, { namespace: "default" });
    const watch = encodeResumeToken({ sessionUid: "uid", revision: 1, position: 1 });
    for (const token of [sessions, watch]) expect(() => decodeMessageToken(token)).toThrow(OTHER_LIST);
    for (const token of [messages, watch]) expect(() => decodeSessions(token)).toThrow(OTHER_LIST);
    for (const token of [messages, sessions]) {
      expect(() => decodeResumeToken(token)).toThrow(refusal("resume_token belongs to another list"));
    }
  });

  it("are refused when made by another version", () => {
    expect(() => decodeSessions(forge([2, "sessions", "", 1, "s"]))).toThrow(
      refusal("page_token was made by another version of the service"),
    );
    expect(decodeSessions(forge([1, "sessions", "", 1, "s"])).sessionId).toBe("s");
  });

  it.each([
    [[1, "sessions", "", 1]],
    [[1, "sessions", "", 1, "s", "more", "too"]],
    [[1, "sessions", "", "1", "s"]],
    [[1, "sessions", "", 1.5, "s"]],
    [[1, "sessions", "", null, "s"]],
    [[1, "sessions", "", 1, { $ne: "" }]],
    [{ version: 1 }],
    ["sessions"],
  ])("are refused when they are forged from %j, even with the right checksum", (content) => {
    expect(() => decodeSessions(forge(content))).toThrow(NOT_GIVEN_OUT);
  });

  it("are refused when they are forged for a place before the first", () => {
    expect(() => decodeResumeToken(forge([1, "watch", "uid", 1, -1]))).toThrow(
      refusal("resume_token is not a token that was given out"),
    );
    expect(decodeResumeToken(forge([1, "watch", "uid", 1, 0])).position).toBe(0);
  });
});

const NOT_GIVEN_OUT = refusal("page_token is not a token that was given out");
const OTHER_LIST = refusal("page_token belongs to another list");

function refusal(message: string) {
  return expect.objectContaining({ code: "invalid_argument", message });
}

function forge(content: unknown): string {
  const payload = Buffer.from(JSON.stringify(content));
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(payload));
  return Buffer.concat([checksum, payload]).toString("base64url");
}

describe("tokens of lists in other orders", () => {
  const scope = { namespace: "default" };
  const title = { parentId: "", order: { by: "title", descending: false } } as const;
  const place = { ...title, key: "a title", sessionId: "s" };

  it("return to their place, and belong to the order and the conditions of their list", () => {
    const token = encodeSessionToken(place, scope);
    expect(decodeSessionToken(token, title, scope)).toStrictEqual(place);
    const others = [
      { ...title, order: { by: "title", descending: true } as const },
      { ...title, order: { by: "create_time", descending: false } as const },
      { ...title, titleWords: ["a"] },
      { ...title, updatedSinceMicros: 0 },
      { ...title, updatedUntilMicros: 0 },
      { ...title, parentId: "p" },
      { ...title, labels: ["a=1"] },
    ];
    const refused = "page_token belongs to a list with another namespace, filter or order";
    for (const other of others) expect(() => decodeSessionToken(token, other, scope)).toThrow(refused);
    for (const other of [{ namespace: "n" }, { ...scope, owner: "o" }]) {
      expect(() => decodeSessionToken(token, title, other)).toThrow(refused);
    }
    expect(() => decodeSessionToken(token, { parentId: "" }, scope)).toThrow("page_token belongs to another list");
  });

  it("are refused with a key of another kind", () => {
    const token = encodeSessionToken({ ...place, key: 5 }, scope);
    expect(() => decodeSessionToken(token, title, scope)).toThrow("page_token belongs to a list with another");
  });

  it("take words and labels in any order", () => {
    const list = { ...title, titleWords: ["a", "b"], labels: ["x=1", "y=2"] };
    const token = encodeSessionToken({ ...list, key: "k", sessionId: "s" }, scope);
    const turned = { ...title, titleWords: ["b", "a"], labels: ["y=2", "x=1"] };
    expect(decodeSessionToken(token, turned, scope)).toMatchObject({ key: "k" });
  });
});
