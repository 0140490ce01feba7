import { expect } from "vitest";
import { ERASED_BODY } from "../../src/domain/erasure.js";
import type { AttachmentTable, LogStore } from "../../src/storage/history/log-store.js";
import { ALL, arriving, begun, naming, stored } from "../contract/log-store/attachment-fixtures.js";
import { created, entry, own } from "../contract/log-store/fixtures.js";
import type { Operation } from "./store-operations.js";

const BYTES = Buffer.from("bytes of a piece");
const SIZE = Buffer.byteLength("bytes of u.2");
const ARRIVED = { log: "u.2", size: 16, sha256: "5a".repeat(32), createTimeMicros: 7, seenMs: 1000 };
const NAMING = { log: "u.1", seq: 1, attachmentId: "a", target: "u.2" };

/** The operations of stores that keep attachments, in the form of `OPERATIONS`. */
export const ATTACHMENT_OPERATIONS: readonly Operation[] = [
  {
    name: "attachments.begin",
    prepare: (store) => created(store, "u"),
    run: (store, call) => tableOf(store).begin(arriving("u.2"), call),
    answer: "stored",
    check: async (store, isDone) => {
      const found = await tableOf(store).list("u", "", ALL);
      expect(found).toEqual(isDone || found.length > 0 ? [arriving("u.2")] : []);
    },
  },
  {
    name: "attachments.putPiece",
    prepare: (store) => begun(store, "u.2"),
    run: (store, call) => tableOf(store).putPiece("u.2", 1, BYTES, call),
    answer: "stored",
    check: async (store, isDone) => {
      const pieces = await tableOf(store).readPieces("u.2", 1, ALL);
      expect(pieces.map((piece) => Buffer.from(piece))).toEqual(isDone || pieces.length > 0 ? [BYTES] : []);
    },
  },
  {
    name: "attachments.complete",
    prepare: (store) => begun(store, "u.2", { attachmentId: "a" }),
    run: (store, call) => tableOf(store).complete(ARRIVED, call),
    answer: expect.objectContaining({ ...ARRIVED, state: "stored" }),
    check: async (store, isDone) => {
      const found = await tableOf(store).find("u", ["a"]);
      expect(found).toEqual(isDone || found.length > 0 ? [expect.objectContaining(ARRIVED)] : []);
    },
  },
  {
    name: "attachments.readPieces",
    prepare: (store) => stored(store, "u.2"),
    run: async (store, call) => (await tableOf(store).readPieces("u.2", 1, 9, call)).map((piece) => `${piece}`),
    answer: ["bytes of u.2"],
  },
  {
    name: "attachments.lastPiece",
    prepare: (store) => stored(store, "u.2"),
    run: (store, call) => tableOf(store).lastPiece("u.2", call),
    answer: 1,
  },
  {
    name: "attachments.find",
    prepare: (store) => stored(store, "u.2", { attachmentId: "a" }),
    run: (store, call) => tableOf(store).find("u", ["a", "b"], call),
    answer: [expect.objectContaining({ log: "u.2" })],
  },
  {
    name: "attachments.findLog",
    prepare: (store) => stored(store, "u.2"),
    run: (store, call) => tableOf(store).findLog("u.2", call),
    answer: expect.objectContaining({ log: "u.2" }),
  },
  {
    name: "attachments.list",
    prepare: (store) => stored(store, "u.2"),
    run: (store, call) => tableOf(store).list("u", "", 9, call),
    answer: [expect.objectContaining({ log: "u.2" })],
  },
  {
    name: "attachments.listSeen",
    prepare: (store) => stored(store, "u.2", { seenMs: 5 }),
    run: (store, call) => tableOf(store).listSeen("stored", 5, 9, call),
    answer: [expect.objectContaining({ log: "u.2" })],
  },
  {
    name: "attachments.change",
    prepare: (store) => stored(store, "u.2"),
    run: (store, call) => tableOf(store).change("u.2", { seenMs: 7, state: "doomed" }, call),
    answer: undefined,
    check: async (store, isDone) => {
      const found = await tableOf(store).findLog("u.2");
      expect([found?.state, found?.seenMs]).toEqual(
        isDone || found?.state === "doomed" ? ["doomed", 7] : ["stored", 1000],
      );
    },
  },
  {
    name: "attachments.remove",
    prepare: (store) => stored(store, "u.2"),
    run: (store, call) => tableOf(store).remove("u.2", call),
    answer: undefined,
    check: async (store, isDone) => {
      const found = await tableOf(store).list("u", "", ALL);
      expect(found.length).toBeOneOf(isDone ? [0] : [0, 1]);
    },
  },
  {
    name: "attachments.usage",
    prepare: (store) => stored(store, "u.2"),
    run: (store, call) => tableOf(store).usage("u", call),
    answer: { bytes: SIZE, arriving: 0 },
  },
  {
    name: "attachments.namings",
    prepare: (store) => named(store),
    run: (store, call) => tableOf(store).namings("u.2", undefined, 9, call),
    answer: [NAMING],
  },
  {
    name: "attachments.findNamings",
    prepare: (store) => named(store),
    run: (store, call) => tableOf(store).findNamings(["u.1"], ["a"], call),
    answer: [NAMING],
  },
  {
    name: "attachments.listNamings",
    prepare: (store) => named(store),
    run: (store, call) => tableOf(store).listNamings(["u.1"], "", 9, call),
    answer: [NAMING],
  },
  {
    name: "attachments.targetsIn a range",
    prepare: (store) => named(store),
    run: (store, call) => tableOf(store).targetsIn({ log: "u.1", first: 1, last: 9 }, 9, call),
    answer: ["u.2"],
  },
  {
    name: "attachments.targetsIn a session",
    prepare: (store) => named(store, "v.2"),
    run: (store, call) => tableOf(store).targetsIn({ foreignTo: "u" }, 9, call),
    answer: ["v.2"],
  },
  {
    name: "append of one that names attachments",
    prepare: (store) => named(store),
    run: (store, call) => store.append("u.1", 2, [naming("u.1", 2, ["a", "u.2"], ["b", "v.2"])], call),
    answer: 1,
    check: (store, isDone) => expectNamed(store, isDone, 2),
  },
  {
    name: "append of a batch that names attachments",
    prepare: (store) => named(store),
    run: (store, call) => store.append("u.1", 2, [entry("u.1", 2), naming("u.1", 3, ["b", "v.2"])], call),
    answer: 2,
    check: (store, isDone) => expectNamed(store, isDone, 3),
  },
  {
    name: "overwriteEntries that named attachments",
    prepare: (store) => named(store),
    run: (store, call) => store.overwriteEntries([{ ...entry("u.1", 1), body: ERASED_BODY }], call),
    answer: undefined,
    check: (store, isDone) => expectInStep(store, isDone),
  },
  {
    name: "deleteEntries that named attachments",
    prepare: (store) => named(store),
    run: (store, call) => store.deleteEntries({ log: "u.1", first: 1, last: 9 }, 10, call),
    answer: false,
    check: (store, isDone) => expectInStep(store, isDone),
  },
  {
    name: "deleteEntries of pieces and rows",
    prepare: (store) => stored(store, "u.2"),
    run: (store, call) => store.deleteEntries({ uid: "u" }, 10, call),
    answer: false,
    check: async (store, isDone) => {
      const left = [await tableOf(store).lastPiece("u.2"), (await tableOf(store).list("u", "", ALL)).length];
      expect(left).toEqual(isDone || left[0] === 0 ? [0, 0] : [1, 1]);
    },
  },
];

function tableOf(store: LogStore): AttachmentTable {
  if (store.attachments === undefined) throw new Error("The store keeps no attachments");
  return store.attachments;
}

/** Stores a message that names an attachment. */
async function named(store: LogStore, target = "u.2"): Promise<void> {
  await own(store, "u.1");
  await store.append("u.1", 1, [naming("u.1", 1, ["a", target])]);
}

/** Expects the naming of `v.2` if the message at this place is there, and only then. */
async function expectNamed(store: LogStore, isDone: boolean, seq: number): Promise<void> {
  const { entries } = await store.readRange("u.1", seq, seq);
  expect(entries.length).toBeOneOf(isDone ? [1] : [0, 1]);
  const found = await tableOf(store).namings("v.2", undefined, 9);
  expect(found).toEqual(entries.length === 1 ? [{ log: "u.1", seq, attachmentId: "b", target: "v.2" }] : []);
}

/** Expects the naming of `u.2` if a stored message says so, and only then. */
async function expectInStep(store: LogStore, isDone: boolean): Promise<void> {
  const [message] = (await store.readRange("u.1", 1, 1)).entries;
  const isNamed = message !== undefined && message.body.attachments.length > 0;
  if (isDone) expect(isNamed).toBe(false);
  expect(await tableOf(store).namings("u.2", undefined, 9)).toEqual(isNamed ? [NAMING] : []);
}
