import fc from "fast-check";
import type { NewChatMessage, Part } from "../../../src/domain/chat-message.js";
import type { DraftDelta } from "../../../src/domain/draft.js";
import type { Labels } from "../../../src/domain/labels.js";
import type { MessageQuery } from "../../../src/domain/page.js";
import type { Usage } from "../../../src/domain/usage.js";
import { groupName, type UsageGroup, type UsageQuery } from "../../../src/domain/usage-groups.js";
import { ATTACHMENTS } from "./naive-attachments.js";
import { type GivenAppend, type Operation, SESSIONS, type Step } from "./operations.js";

const OWNERS = ["x", "y"] as const;
/** Mostly one of those that every sequence begins with. */
const session = fc.constantFrom("a", "a", "a", "b", "b", ...SESSIONS);
/** The first messages, which most sessions have. */
const earlyMessageId = fc.constantFrom("m0", "m1", "m2", "m3", "m4");
const messageId = fc.oneof(earlyMessageId, fc.constantFrom(...Array.from({ length: 10 }, (_, i) => `m${i}`)));
const attachmentId = fc.constantFrom(...ATTACHMENTS);
const sometimes = <T>(arbitrary: fc.Arbitrary<T>, outOf: number) =>
  fc.oneof({ weight: outOf - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
const mostly = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 1, arbitrary: fc.constant(undefined) }, { weight: 3, arbitrary });
/**
 * Timestamps. Most are drawn from few values, so that many are equal or fall between others. Some are before 1970 or at
 * either end of the range.
 */
const time = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: -4, max: 9 }) },
  { weight: 1, arbitrary: fc.constantFrom(Number.MIN_SAFE_INTEGER, Number.MIN_SAFE_INTEGER + 1) },
  { weight: 1, arbitrary: fc.constantFrom(Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER - 1) },
  { weight: 1, arbitrary: fc.maxSafeInteger() },
);

const message: fc.Arbitrary<NewChatMessage> = fc
  .record({
    id: fc.oneof({ weight: 9, arbitrary: messageId }, { weight: 1, arbitrary: fc.constant(undefined) }),
    role: fc.constantFrom("x", "x", "x", "y"),
    timestampMicros: fc.oneof({ weight: 2, arbitrary: fc.constant(undefined) }, { weight: 3, arbitrary: time }),
    attachmentId: sometimes(attachmentId, 4),
  })
  .map(({ attachmentId, ...given }) => ({
    ...given,
    usage: usageOf(given.id),
    parts: [{ id: "", type: "text", text: given.role }, ...(attachmentId === undefined ? [] : [naming(attachmentId)])],
  }));

/** The usage of half of the messages, by their ids: an append that is repeated has the same. */
function usageOf(id: string | undefined): Usage | undefined {
  const number = Number(id?.slice(1) ?? 0);
  if (number % 2 === 0) return undefined;
  if (number === 3) return { model: "m3" };
  const cost = { cost: `0.${number}`, currency: number < 5 ? "USD" : "EUR" };
  return { model: id, provider: "p", inputTokens: number, durationMicros: 1000 * number, ...cost };
}

function naming(attachmentId: string): Part {
  const attachment = { attachmentId, mediaType: "", name: "", size: 0, sha256: "" };
  return { id: "f", type: "file", text: "", attachment };
}

const givenAppend: fc.Arbitrary<GivenAppend> = fc
  .record({
    messages: fc.array(message, { minLength: 1, maxLength: 4 }),
    expectedPosition: sometimes(fc.integer({ min: 0, max: 8 }), 7),
  })
  .map((given) => {
    const names = given.messages.some(({ parts }) => parts.length > 1);
    // Which of two refusals is given, for a position or for an attachment, is not defined.
    return names ? { ...given, expectedPosition: undefined } : given;
  });

const query: fc.Arbitrary<MessageQuery> = fc.record({
  newestFirst: fc.boolean(),
  includeAncestors: sometimes(fc.constant(true), 3),
  sinceMicros: sometimes(time, 4),
  untilMicros: sometimes(time, 4),
});

const limit = fc.integer({ min: 1, max: 5 });
const annotation = fc.constantFrom("n0", "n0", "n1", "n2", "n3");
const thumb = fc.constantFrom("" as const, "up" as const, "down" as const);
const note = fc.constantFrom("x", "y");
const slot = fc.integer({ min: 0, max: 2 });
const title = fc.constantFrom("t", "u");
const labels: fc.Arbitrary<Labels> = fc.record(
  { k: fc.constantFrom("1", "2"), l: fc.constant("") },
  { requiredKeys: [] },
);

const group: fc.Arbitrary<UsageGroup> = fc.oneof(
  fc.constantFrom("day", "model", "provider", "owner", "session").map((by) => ({ by }) as UsageGroup),
  fc.constantFrom("k", "l").map((key) => ({ by: "label" as const, key })),
);
const usageQuery: fc.Arbitrary<UsageQuery> = fc.record({
  groupBy: fc.uniqueArray(group, { maxLength: 3, selector: groupName }),
  sinceMicros: sometimes(time, 4),
  untilMicros: sometimes(time, 4),
  labels: fc.subarray(["k=1", "l="], { maxLength: 1 }),
  owner: sometimes(fc.constantFrom("", ...OWNERS), 4),
  sessionId: sometimes(session, 4),
  model: sometimes(fc.constantFrom("m1", "m3", "z"), 5),
});

const delta: fc.Arbitrary<DraftDelta> = fc.oneof(
  fc.record({
    kind: fc.constant("append_text" as const),
    partId: fc.constantFrom("", "p"),
    text: fc.constantFrom("x", "y"),
  }),
  fc.constantFrom("", "p").map((id) => ({ kind: "put_part" as const, part: { id, type: "tool", text: "z" } })),
);
const draftChange = {
  session,
  message: messageId,
  deltas: fc.array(delta, { maxLength: 2 }),
  behind: fc.constantFrom(0, 0, 0, 0, 1),
};

type Weighted = { readonly weight: number; readonly arbitrary: fc.Arbitrary<Operation> };

const OPERATIONS: readonly Weighted[] = [
  {
    weight: 6,
    arbitrary: fc.record(
      {
        op: fc.constant("create" as const),
        session,
        parent: sometimes(session, 2),
        title: sometimes(title, 4),
        labels: sometimes(labels, 2),
      },
      { requiredKeys: ["op", "session"] },
    ) as fc.Arbitrary<Operation>,
  },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant("update" as const),
      session,
      title: sometimes(title, 2),
      labels: sometimes(labels, 2),
      onlyIfFirst: fc.boolean(),
    }),
  },
  {
    weight: 20,
    arbitrary: fc.record({
      op: fc.constant("append" as const),
      session,
      appends: fc.array(givenAppend, { minLength: 1, maxLength: 1 }),
      creates: sometimes(fc.constant(true), 5),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      op: fc.constant("turn" as const),
      session,
      appends: fc.array(givenAppend, { minLength: 1, maxLength: 4 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      op: fc.constantFrom("truncate" as const, "revert" as const, "revert" as const),
      session,
      message: fc.oneof({ weight: 4, arbitrary: messageId }, { weight: 1, arbitrary: fc.constant(null) }),
      onlyIfFirst: sometimes(fc.constant(true as const), 6),
    }),
  },
  {
    weight: 7,
    arbitrary: fc.record({
      op: fc.constant("updateMessage" as const),
      session,
      message: messageId,
      role: fc.constantFrom("x", "y", "z", undefined),
      onlyIfFirst: sometimes(fc.constant(true as const), 9),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant("deleteMessage" as const),
      session,
      message: messageId,
      onlyIfFirst: sometimes(fc.constant(true as const), 9),
    }),
  },
  { weight: 3, arbitrary: fc.record({ op: fc.constant("unrevert" as const), session }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constantFrom("count" as const, "describe" as const), session }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constantFrom("delete" as const, "expire" as const), session }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("delete" as const), session }) },
  { weight: 6, arbitrary: fc.record({ op: fc.constant("undelete" as const), session }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("deleted" as const), limit }) },
  { weight: 6, arbitrary: fc.record({ op: fc.constant("sum" as const), query: usageQuery, limit }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("get" as const), session, message: messageId }) },
  {
    weight: 7,
    arbitrary: fc.record({
      op: fc.constantFrom("fork" as const, "share" as const, "copy" as const, "copy" as const),
      session,
      target: fc.constantFrom(...SESSIONS),
      upTo: sometimes(messageId, 3),
      onlyIfFirst: sometimes(fc.constant(true as const), 6),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant("read" as const),
      session,
      ancestors: fc.boolean(),
      limit: mostly(limit),
      offset: sometimes(fc.integer({ min: 0, max: 6 }), 2),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant("list" as const),
      session,
      limit,
      offset: fc.integer({ min: 0, max: 6 }),
      query,
    }),
  },
  { weight: 6, arbitrary: fc.record({ op: fc.constant("page" as const), slot, session, limit, query }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("load" as const), slot, session, limit }) },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant("sessions" as const),
      parent: fc.constantFrom("", "", ...SESSIONS),
      labels: fc.subarray(["k=1", "k=2", "l="]),
      limit,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constant("search" as const),
      word: fc.constantFrom("x", "y", "z"),
      labels: fc.subarray(["k=1", "l="]),
      limit,
    }),
  },
  { weight: 3, arbitrary: fc.record({ op: fc.constant("follow" as const), slot, session }) },
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constant("start" as const),
      session,
      message: message.chain((given) => messageId.map((id) => ({ ...given, id, usage: usageOf(id) }))),
      discardWhenAbandoned: sometimes(fc.constant(true), 4).map((given) => given ?? false),
    }),
  },
  { weight: 8, arbitrary: fc.record({ op: fc.constant("extend" as const), ...draftChange }) },
  {
    weight: 5,
    arbitrary: fc.record({
      op: fc.constant("finish" as const),
      ...draftChange,
      metadata: sometimes(fc.constant({ done: true }), 3),
      expectedPosition: sometimes(fc.integer({ min: 0, max: 8 }), 7),
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("discard" as const), session, message: messageId }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("drafts" as const), session }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("abandon" as const) }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant("erase" as const), session, message: messageId }) },
  {
    weight: 8,
    arbitrary: fc.record({
      op: fc.constant("upload" as const),
      session,
      attachment: attachmentId,
      bytes: fc.constantFrom("", "one", "one", "two"),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constantFrom("download" as const, "download" as const, "deleteAttachment" as const),
      session,
      attachment: attachmentId,
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("attachments" as const), session }) },
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constant("annotate" as const),
      session,
      annotation,
      message: earlyMessageId,
      thumb,
      text: note,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant("updateAnnotation" as const),
      session,
      annotation,
      thumb: sometimes(thumb, 2),
      text: mostly(fc.constantFrom("", "x", "y", "z")),
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("deleteAnnotation" as const), session, annotation }) },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant("annotations" as const),
      session,
      message: fc.oneof(fc.constant(""), earlyMessageId),
      limit,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant("expireLater" as const),
      session,
      afterMicros: fc.constantFrom(1, 2, 4, null),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ op: fc.constant("give" as const), session, owner: fc.constantFrom("", ...OWNERS) }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("later" as const) }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant("sweep" as const) }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("wait" as const) }) },
];

function beginning(...ids: readonly string[]): GivenAppend {
  const messages = ids.map((id) => ({
    id,
    role: "x",
    parts: [{ id: "", type: "text", text: "x" }],
    usage: usageOf(id),
  }));
  return { messages, expectedPosition: undefined };
}

/** Sequences that begin with two sessions and some messages, so that few steps are wasted on refusals. */
export const steps: fc.Arbitrary<readonly Step[]> = fc
  .array(fc.tuple(fc.oneof(...OPERATIONS), fc.integer({ min: 0, max: 2 }), sometimes(fc.constantFrom(...OWNERS), 5)), {
    minLength: 10,
    maxLength: 60,
    size: "max",
  })
  .map((list) => [
    { op: "create", session: "a", by: 0 },
    { op: "create", session: "b", by: 0 },
    { op: "append", session: "a", appends: [beginning("m0", "m1", "m2", "m3")], by: 0 },
    { op: "append", session: "b", appends: [beginning("m3", "m4")], by: 0 },
    { op: "upload", session: "a", attachment: "p", bytes: "one", by: 0 },
    { op: "annotate", session: "a", annotation: "n0", message: "m1", thumb: "up", text: "x", by: 0 },
    ...list.map(([operation, by, as]) => ({ ...operation, by, as })),
  ]);
