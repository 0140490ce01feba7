import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { importSessions } from "../../../../src/commands/transfer/import-sessions.js";

const root = mkdtempSync(join(tmpdir(), "session-pool-refusals-"));
const file = join(root, "file.jsonl");
const database = join(root, "pool.db");
afterAll(() => rmSync(root, { recursive: true }));

const HEADER = { format: "session-pool", version: 4 };
const END = { todos: [] };
const times = { createTimeMicros: 1, updateTimeMicros: 2, revision: 1 };
const session = (given: object = {}) => ({ session: { sessionId: "s", title: "", ...times, messages: [], ...given } });
const message = (given: object = {}) => ({
  message: { id: "m", role: "user", timestampMicros: 5, parts: [], ...given },
});
const facts = { attachmentId: "a", mediaType: "text/plain", name: "", size: 0, sha256: "0".repeat(64) };
const attachment = (given: object = {}) => ({ attachment: { ...facts, createTimeMicros: 1, ...given } });
const naming = (number: number) =>
  message({ parts: [{ id: "", type: "file", text: "", attachment: facts }], attachments: [["a", number]] });
const chain = Array.from({ length: 200 }, (_, i) => ({ sessionId: `p${i}`, messages: [[i + 1, i + 1]] }));
const origin = (sourceSessionId: string) => ({ kind: "fork", sourceSessionId, upToMessageId: "", sourceLives: true });
const fork = (parentId: string) => ({ parentId, forkPointId: "m", inheritedCount: 1 });
const CIRCLE = /Line 2: it was made from a session that was, directly or through others, made from it$/;
const deep = (levels: number): string => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;

/** Each case holds the lines of a file after its header, and the error. */
const OWN: readonly (readonly [string, readonly (object | string)[], RegExp])[] = [
  ["a line that is not JSON", [session(), '{"message":'], /Line 3: it is not valid JSON$/],
  ["a line that is null", ["null"], /Line 2: it is neither a session, a message, an attachment nor todos$/],
  ["a line of another kind", [{ what: 1 }], /Line 2: it is neither a session, a message, an attachment nor todos$/],
  [
    "a line of two kinds",
    [{ ...session(), ...END }],
    /Line 2: it is neither a session, a message, an attachment nor todos$/,
  ],
  ["a message before any session", [message(), END], /Line 2: a message comes before any session$/],
  ["a message that no session names", [session(), message(), END], /Line 3: no session names this message$/],
  ["a piece before any attachment", [session(), { piece: "AAAA" }], /Line 3: a piece comes before any attachment$/],
  ["an attachment that no message names", [session(), attachment(), END], /Line 3: no message names this attachment$/],
  [
    "an attachment that is not there",
    [session({ messages: [[1, 1]] }), naming(1), END],
    /Line 2: messages of session "s" name attachments up to 1, but the last one is 0$/,
  ],
  [
    "an attachment that no part names",
    [session({ messages: [[1, 1]] }), message({ attachments: [["a", 1]] }), attachment(), END],
    /Line 3: message.attachments names "a", which no part does$/,
  ],
  [
    "a message after attachments",
    [session({ messages: [[1, 2]] }), naming(1), attachment(), message({ id: "n" }), END],
    /Line 5: it follows attachments, which come after the messages of a session$/,
  ],
  [
    "an attachment with an unknown field",
    [session({ messages: [[1, 1]] }), naming(1), attachment({ note: 1 }), END],
    /Line 4: attachment has the unknown field "note"$/,
  ],
  [
    "an attachment without its SHA-256",
    [session({ messages: [[1, 1]] }), naming(1), attachment({ sha256: "" }), END],
    /Line 4: sha256 must have 64 digits in lower case$/,
  ],
  [
    "an attachment with a malformed type",
    [session({ messages: [[1, 1]] }), naming(1), attachment({ mediaType: "x" }), END],
    /Line 4: media_type is "x"; it must be a type such as "image\/png"$/,
  ],
  ["a session that is a string", [{ session: "s" }], /Line 2: session must be an object, but it is "s"$/],
  [
    "a session without an id",
    [session({ sessionId: undefined })],
    /Line 2: session.sessionId must be a string, but it is missing$/,
  ],
  ["an empty session id", [session({ sessionId: "" })], /Line 2: sessionId is required$/],
  ["a session id with a control character", [session({ sessionId: "a\nb" })], /Line 2: .*control characters$/],
  [
    "a session id that is not valid Unicode",
    [
      '{"session":{"sessionId":"\\ud800","title":"","createTimeMicros":1,"updateTimeMicros":1,"revision":1,"messages":[]}}',
    ],
    /Line 2: .*not well-formed Unicode/,
  ],
  ["a title that is a number", [session({ title: 5 })], /Line 2: session.title must be a string, but it is 5$/],
  ["an owner that is a number", [session({ owner: 5 })], /Line 2: session.owner must be a string, but it is 5$/],
  [
    "an owner over its limit",
    [session({ owner: "x".repeat(129) })],
    /Line 2: owner is 129 bytes; at most 128 are allowed$/,
  ],
  [
    "an owner with a control character",
    [session({ owner: "a\nb" })],
    /Line 2: owner must not contain control characters$/,
  ],
  [
    "metadata that is a list",
    [session({ metadata: [] })],
    /Line 2: session.metadata must be an object, but it is a list$/,
  ],
  [
    "metadata that is too deep",
    [
      `{"session":{"sessionId":"s","title":"","createTimeMicros":1,"updateTimeMicros":1,"revision":1,"messages":[],"metadata":${deep(5000)}}}`,
    ],
    /Line 2: metadata is nested deeper than 96 levels$/,
  ],
  [
    "an integer that no double holds",
    [
      session({ messages: [[1, 1]] }),
      '{"message":{"id":"m","role":"user","timestampMicros":5,"parts":[],"metadata":{"a":[9007199254740993]}}}',
    ],
    /Line 3: message.metadata.a\[0\]: the integer 9007199254740993 is not exact as a double; send it as a string$/,
  ],
  [
    "a time that is not a whole number",
    [session({ createTimeMicros: 1.5 })],
    /Line 2: session.createTimeMicros must be a whole number, but it is 1.5$/,
  ],
  [
    "a time that is too large",
    [session({ updateTimeMicros: 1e300 })],
    /Line 2: session.updateTimeMicros must be a whole number/,
  ],
  [
    "revision 0",
    [session({ revision: 0 })],
    /Line 2: session.revision must be a whole number of at least 1, but it is 0$/,
  ],
  [
    "messages inherited from nowhere",
    [session({ inheritedCount: 1, parentId: "p" })],
    /Line 2: session.inheritedCount is 1, but session.forkPointId is missing$/,
  ],
  [
    "a fork point of a session that inherited nothing",
    [session({ forkPointId: "m", parentId: "p" })],
    /Line 2: session.inheritedCount is 0, but session.forkPointId is "m"$/,
  ],
  [
    "messages inherited from nobody",
    [session({ ...fork(""), messages: [[1, 1]] })],
    /Line 2: session.inheritedCount is 1, but session.parentId is missing$/,
  ],
  [
    "more inherited messages than there are in a session that was never edited",
    [session({ ...fork("p"), inheritedCount: 2, messages: [[1, 1]] })],
    /Line 2: session.inheritedCount is 2, but a session of revision 1, .* names only 1 messages$/,
  ],
  [
    "an origin other than the parent",
    [session({ parentId: "p", origin: origin("q") })],
    /Line 2: session.origin.sourceSessionId is "q", but session.parentId is "p"$/,
  ],
  [
    "an origin that ends at another message than the fork point",
    [session({ ...fork("p"), origin: { ...origin("p"), upToMessageId: "n" }, messages: [[1, 1]] })],
    /Line 2: session.origin.upToMessageId is "n", but session.forkPointId is "m"$/,
  ],
  ["a session that is its own source", [session({ parentId: "s", origin: origin("s") }), END], CIRCLE],
  [
    "sessions that were made from each other",
    [
      session({ sessionId: "r" }),
      session({ sessionId: "t", parentId: "s", origin: origin("s") }),
      session({ parentId: "t", origin: origin("t") }),
      END,
    ],
    /Line 3: it was made from a session that was, directly or through others, made from it$/,
  ],
  [
    "an origin of an unknown kind",
    [session({ origin: { kind: "x" } })],
    /Line 2: session.origin.kind must be fork or share, but it is "x"$/,
  ],
  ["messages that are not a list", [session({ messages: 5 })], /Line 2: session.messages must be a list, but it is 5$/],
  [
    "message numbers that decrease",
    [session({ messages: [[2, 1]] })],
    /Line 2: session.messages\[0\] must be the numbers of a first and a last message$/,
  ],
  [
    "the message number 0",
    [session({ messages: [[0, 1]] })],
    /Line 2: session.messages\[0\]\[0\] must be a whole number of at least 1, but it is 0$/,
  ],
  [
    "a message number beyond the last message",
    [session({ messages: [[1, 2]] }), message(), END],
    /Line 2: session "s" names messages up to 2, but the last one is 1$/,
  ],
  [
    "a huge message number",
    [session({ messages: [[1, 9e15]] }), message(), END],
    /Line 2: session "s" names messages up to 9000000000000000/,
  ],
  [
    "message numbers with a gap",
    [session({ messages: [[2, 2]] }), message(), END],
    /Line 2: it names message 2, but no session names message 1$/,
  ],
  [
    "a message twice in one list",
    [
      session({
        messages: [
          [1, 1],
          [1, 1],
        ],
      }),
      message(),
      END,
    ],
    /Line 2: message 1 is in one list twice$/,
  ],
  [
    "timestamps that decrease",
    [session({ messages: [[1, 2]] }), message(), message({ id: "n", timestampMicros: 4 }), END],
    /Line 2: session "s" shows message 2 after one with a later timestamp$/,
  ],
  [
    "a chain of parents that no record can hold",
    [session(), session({ sessionId: "t", ancestry: chain }), ...chain.map(() => message()), END],
    /Line 3: session "t" has too long a chain of parents: it would take \d+ bytes; at most 16384 are allowed$/,
  ],
  ["a session twice", [session(), session(), END], /Line 3: session "s" is in the file twice$/],
  [
    "a message that is a list",
    [session({ messages: [[1, 1]] }), { message: [] }],
    /Line 3: message must be an object, but it is a list$/,
  ],
  [
    "a message without parts",
    [session({ messages: [[1, 1]] }), message({ parts: undefined })],
    /Line 3: message.parts must be a list, but it is missing$/,
  ],
  [
    "a message without a role",
    [session({ messages: [[1, 1]] }), message({ role: "" })],
    /Line 3: message.info.role is required$/,
  ],
  [
    "a part that is null",
    [session({ messages: [[1, 1]] }), message({ parts: [null] })],
    /Line 3: message.parts\[0\] must be an object, but it is null$/,
  ],
  [
    "a part without a type",
    [session({ messages: [[1, 1]] }), message({ parts: [{ id: "", type: "", text: "" }] })],
    /Line 3: message.parts\[0\].type is required$/,
  ],
  [
    "data that is a string",
    [session({ messages: [[1, 1]] }), message({ parts: [{ id: "", type: "x", text: "", data: "y" }] })],
    /Line 3: message.parts\[0\].data must be an object, but it is "y"$/,
  ],
  ["an unknown field beside a session", [{ ...session(), a: 1 }], /Line 2: it has the unknown field "a"$/],
  ["an unknown field of a session", [session({ tags: [] })], /Line 2: session has the unknown field "tags"$/],
  [
    "an unknown field of an ancestor",
    [session({ ancestry: [{ sessionId: "p", messages: [], title: "" }] })],
    /Line 2: session.ancestry\[0\] has the unknown field "title"$/,
  ],
  [
    "an unknown field of a message",
    [session({ messages: [[1, 1]] }), message({ author: "x" })],
    /Line 3: message has the unknown field "author"$/,
  ],
  [
    "an unknown field of a part",
    [session({ messages: [[1, 1]] }), message({ parts: [{ id: "", type: "x", text: "", url: "y" }] })],
    /Line 3: message.parts\[0\] has the unknown field "url"$/,
  ],
  [
    "an unknown field of a todo",
    [{ todos: [{ id: "t", content: "", status: "", priority: "", due: "" }] }],
    /Line 2: todos\[0\] has the unknown field "due"$/,
  ],
  [
    "a key twice in a message",
    [
      session({ messages: [[1, 1]] }),
      '{"message":{"id":"m","role":"user","timestampMicros":5,"parts":[],"metadata":{"a":1,"\\u0061":2}}}',
    ],
    /Line 3: it has the key "a" twice in one object$/,
  ],
  ["a key twice in a line", ['{"todos":[],"todos":[]}'], /Line 2: it has the key "todos" twice in one object$/],
  ["todos that are not a list", [{ todos: {} }], /Line 2: todos must be a list, but it is an object$/],
  [
    "a todo without an id",
    [{ todos: [{ id: "", content: "", status: "", priority: "" }] }],
    /Line 2: todos\[0\].id is required$/,
  ],
  ["a line after the todos", [END, session()], /Line 3: it follows the todos, which are the end of the file$/],
  [
    "a file that was cut off after a line",
    [session()],
    /The file is not whole: its last line, with the todos, is missing$/,
  ],
];

const OLD: typeof OWN = [
  ["a line that is not JSON", ["{"], /Line 2: it is not valid JSON$/],
  ["a message before any session", [message()], /Line 2: a message comes before any session$/],
  ["a session without an id", [{ session: {} }], /Line 2: session.sessionId must be a string, but it is missing$/],
  ["a message without an id", [{ session: { sessionId: "s" } }, message({ id: "" })], /Line 3: id is required$/],
  [
    "timestamps that decrease",
    [{ session: { sessionId: "s" } }, message(), message({ id: "n", timestampMicros: 1 })],
    /Line 2: message 2 has an earlier timestamp/,
  ],
  [
    "a chain of parents that no record can hold",
    Array.from({ length: 200 }, (_, i) => [
      { session: { sessionId: `s${i}`, parentId: i > 0 ? `s${i - 1}` : "" } },
      message(),
    ]).flat(),
    /Line \d+: session "s1\d\d" has too long a chain of parents: it would take \d+ bytes; at most 16384 are allowed$/,
  ],
];

const FOREIGN: readonly (readonly [string, string | Buffer, RegExp])[] = [
  [
    "a file that is not JSON",
    "nonsense",
    /the file is neither JSON nor an export of session-pool, .* or the OpenAI Agents SDK$/,
  ],
  ["an empty file", "", /the file is empty$/],
  ["JSON of another kind", '[{"a":1}]', /the file is JSON, but not an export of .*; its first entry has the fields a$/],
  ["a number", "[1]", /the file is JSON, but not an export of session-pool, .*ChatGPT/],
  ["null", "null", /the file is neither JSON nor/],
  [
    "a future version",
    '{"format":"session-pool","version":5}\n',
    /the file has version 5; this program reads versions up to 4$/,
  ],
  ["no version", '{"format":"session-pool"}\n', /the file has version ""/],
  ["lines of another program", '{"type":"x"}\n{"type":"y"}\n', /the file is JSON Lines, but .* the fields type$/],
  ["text that is not UTF-8", Buffer.from('{\n"title": "caf\u00e9"}', "latin1"), /the file is JSON, but not an export/],
  ["a damaged archive", Buffer.from("PK\u0003\u0004\u0014\u0000", "latin1"), /the ZIP archive is damaged: /],
  ["an archive of another kind", Buffer.from("377abcaf271c0004", "hex"), /the file is a 7z archive; unpack it first$/],
  ["a database", Buffer.concat([Buffer.from("SQLite format 3\0"), Buffer.alloc(84, 200)]), /a SQLite database/],
  ["something else that is compressed", gzipSync("nonsense"), /the file is neither JSON nor an export/],
  ["a page", "<!DOCTYPE html><html></html>", /the file is an HTML page; .* conversations.json/],
];

describe("an import of a session-pool file is refused with a one-line error, and stores nothing, for", () => {
  it.each(OWN)("%s", async (_, lines, text) => expectRefusal(textOf(HEADER, lines), text));
  it("bytes that are not UTF-8", async () => {
    const bytes = Buffer.concat([Buffer.from(textOf(HEADER, [])), Buffer.from([0x7b, 0xff, 0x7d, 0x0a])]);
    await expectRefusal(bytes, /Line 2: it is not UTF-8$/);
  });
  it("a message twice in one session", async () => {
    const lines = [session({ messages: [[1, 2]] }), message(), message(), END];
    await expectRefusal(textOf(HEADER, lines), /Line 4: message "m" is in the session twice$/);
  });
});

describe("an import of a file of version 0.1.0 is refused with a one-line error, and stores nothing, for", () => {
  it.each(OLD)("%s", async (_, lines, text) => expectRefusal(textOf({ ...HEADER, version: 1 }, lines), text));
});

describe("an import of a foreign file is refused with a one-line error, and stores nothing, for", () => {
  it.each(FOREIGN)("%s", async (_, content, text) => expectRefusal(content, text));
});

describe("an import is refused with a one-line error for", () => {
  const target = { storage: `sqlite:${database}`, namespace: "default" };
  it("a missing file", async () => {
    await expect(importSessions(target, join(root, "nowhere"))).rejects.toThrow(/nowhere: there is no such file$/);
  });
  it("a folder without files that can be imported", async () => {
    mkdirSync(join(root, "folder"));
    await expect(importSessions(target, join(root, "folder"))).rejects.toThrow(/folder: there is no JSON in it$/);
  });
  it("a store in memory, which would be gone afterwards", async () => {
    writeFileSync(file, textOf(HEADER, [session(), END]));
    const imported = importSessions({ ...target, storage: "memory:" }, file);
    await expect(imported).rejects.toThrow("memory: holds nothing outside the process that serves it");
  });
});

function textOf(header: object, lines: readonly (object | string)[]): string {
  return [header, ...lines].map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join("");
}

async function expectRefusal(content: string | Buffer, text: RegExp): Promise<void> {
  writeFileSync(file, content);
  const error = await importSessions({ storage: `sqlite:${database}`, namespace: "default" }, file).then(
    () => expect.unreachable("the file was imported"),
    (reason: unknown) => reason as Error,
  );
  expect(error.message).toMatch(text);
  expect(error.message.startsWith(`${file}: `)).toBe(true);
  // The command prints a plain Error as one line, and any other with its stack.
  expect(error.constructor).toBe(Error);
  expect(error.message).not.toContain("\n");
  expect(existsSync(database)).toBe(false);
}
