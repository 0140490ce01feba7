import { expect, it } from "vitest";
import type { ChatMessage, Part } from "../../../../src/domain/chat-message.js";
import type { Draft } from "../../../../src/domain/draft.js";
import { ERASED_PARTS } from "../../../../src/domain/erasure.js";
import type { FollowEvent } from "../../../../src/domain/page.js";
import { EventQueue } from "../../../../src/storage/history/follow/event-queue.js";

const TEXT: readonly Part[] = [{ id: "", type: "text", text: "secret" }];

const at = (position: number) => ({ sessionUid: "u", revision: 1, position });
const messageOf = (id: string, parts = TEXT) =>
  ({ id, parts, metadata: parts === TEXT ? { secret: true } : undefined }) as unknown as ChatMessage;

function appended(position: number, id = `m${position}`): FollowEvent {
  return { kind: "appended", message: messageOf(id), at: at(position) };
}

function updated(id: string, parts = TEXT): FollowEvent {
  return { kind: "updated", message: messageOf(id, parts), at: at(9) };
}

function draft(id: string): FollowEvent {
  return { kind: "draft", draft: { version: 1, message: messageOf(id) } as unknown as Draft, at: at(9) };
}

function extended(messageId: string): FollowEvent {
  const deltas = [{ kind: "append_text", partId: "", text: "secret" }] as const;
  return { kind: "draft_extended", messageId, version: 2, deltas, at: at(9) };
}

function truncated(messageCount: number): FollowEvent {
  return { kind: "truncated", messageCount, at: at(messageCount) };
}

/** The events that a follower reads when it starts to read after all these events were pushed. */
async function readAfter(...pushed: readonly FollowEvent[]): Promise<FollowEvent[]> {
  const pause = () => Promise.reject(new Error("No event waits"));
  const queue = new EventQueue(100, pause, () => {});
  for (const event of pushed) queue.push(event);
  const read: FollowEvent[] = [];
  do read.push((await queue.next(1)) as FollowEvent);
  while (read.at(-1) !== pushed.at(-1));
  return read;
}

it("a truncate drops the unread messages that it removes, and no events about drafts", async () => {
  const [d, e] = [draft("d"), extended("d")];
  const events = [appended(1), appended(2), appended(3), d, appended(4), e, appended(5), truncated(2)];
  expect(await readAfter(...events)).toEqual([events[0], events[1], d, e, events[7]]);
});

it.each([
  ["an update", updated("m1")],
  ["an earlier truncate", truncated(3)],
])("a truncate drops no events from before %s", async (_, edit) => {
  const events = [appended(2), appended(3), edit, appended(4), truncated(1)];
  expect(await readAfter(...events)).toEqual([events[0], events[1], edit, events[4]]);
});

it("an erasure removes the content of the message from unread events, also from those about its draft", async () => {
  const erased = updated("m", ERASED_PARTS);
  const events = [appended(1, "m"), updated("m"), draft("m"), extended("m"), erased];
  expect(await readAfter(...events)).toEqual([
    { ...events[0], message: { id: "m", parts: ERASED_PARTS, metadata: undefined } },
    { ...events[1], message: { id: "m", parts: ERASED_PARTS, metadata: undefined } },
    { ...events[2], draft: { version: 1, message: { id: "m", parts: [], metadata: undefined } } },
    { ...events[3], deltas: [] },
    erased,
  ]);
});

it("an erasure leaves the content of other messages alone, and so does an ordinary update", async () => {
  const others = [appended(1, "n"), updated("n"), draft("n"), extended("n"), truncated(7)];
  const erased = updated("m", ERASED_PARTS);
  expect(await readAfter(...others, erased)).toEqual([...others, erased]);
  const same = [appended(1, "m"), draft("m"), extended("m")];
  const update = updated("m");
  expect(await readAfter(...same, update)).toEqual([...same, update]);
});
