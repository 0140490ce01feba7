import { describe, expect, it } from "vitest";
import { DraftContent } from "../../../src/domain/draft-content.js";
import type { FollowEvent } from "../../../src/domain/page.js";
import { message, messages, sessionWith } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

type Provider = StorageProviderSubject["provider"];

const SECRET = "a secret that must go";
const PARTS = [{ id: "", type: "text", text: SECRET }];
const MORE = [{ kind: "append_text", partId: "", text: `, and more of ${SECRET}` }] as const;

/** A follower that applies what it gets, and reads only when it is told to. */
class Follower {
  readonly got: FollowEvent[] = [];
  readonly #messages: string[] = [];
  readonly #drafts = new Map<string, DraftContent>();
  readonly #stop = new AbortController();
  #events: AsyncIterator<FollowEvent> | undefined;

  async open(provider: Provider, from: number): Promise<this> {
    const events = await provider.followMessages("s", from, { signal: this.#stop.signal });
    this.#events = events[Symbol.asyncIterator]();
    return this;
  }

  /** What it holds, as text: messages with their content, and drafts with theirs. */
  get holds(): string {
    return JSON.stringify([this.#messages, [...this.#drafts].map(([id, { parts }]) => [id, parts])]);
  }

  async read(): Promise<FollowEvent> {
    const { value, done } = (await this.#events?.next()) ?? { done: true };
    if (done) throw new Error("The events have ended");
    this.got.push(value);
    this.#apply(value);
    return value;
  }

  /** Reads until it holds this. */
  async until(holds: string): Promise<void> {
    while (this.holds !== holds) await this.read();
  }

  /** Reads until nothing is left. */
  async drain(): Promise<void> {
    while ((await this.read()).kind !== "heartbeat");
  }

  close(): void {
    this.#stop.abort();
  }

  #apply(event: FollowEvent): void {
    switch (event.kind) {
      case "appended":
        expect(event.message.position).toBe(this.#messages.length);
        this.#messages.push(textOf(event.message));
        break;
      case "updated":
        this.#messages[event.message.position as number] = textOf(event.message);
        break;
      case "deleted":
        this.#messages.splice(event.position, 1);
        break;
      case "truncated":
        expect(event.messageCount).toBeLessThanOrEqual(this.#messages.length);
        this.#messages.length = event.messageCount;
        break;
      case "draft":
        this.#drafts.set(event.draft.message.id as string, new DraftContent(event.draft.message.parts));
        break;
      case "draft_extended":
        (this.#drafts.get(event.messageId) as DraftContent).apply(event.deltas);
        break;
      case "draft_ended":
        expect(this.#drafts.delete(event.messageId)).toBe(true);
        break;
    }
    expect(event.at.position).toBe(this.#messages.length);
  }
}

function textOf({ id, parts }: { readonly id: string; readonly parts: unknown }): string {
  return `${id} ${JSON.stringify(parts)}`;
}

/** What a follower has to hold in the end. */
async function shownBy(provider: Provider): Promise<string> {
  const drafts = (await provider.listDrafts("s")).map(({ message: { id, parts } }) => [id, parts]);
  return JSON.stringify([(await provider.getSessionMessages("s")).map(textOf), drafts]);
}

/** How a secret comes into the session, and how it gets away before it is erased. */
const WAYS: readonly {
  readonly name: string;
  readonly come: (provider: Provider) => Promise<unknown>;
  readonly go: (provider: Provider) => Promise<unknown>;
}[] = [
  {
    name: "a message",
    come: (provider) => provider.logMessages("s", [message("secret", { parts: PARTS })]),
    go: async () => {},
  },
  {
    name: "a message, together with another edit",
    come: (provider) => provider.logMessages("s", [message("secret", { parts: PARTS })]),
    go: (provider) => provider.updateMessage("s", "m1", { parts: [] }),
  },
  {
    name: "a message that was deleted",
    come: (provider) => provider.logMessages("s", [message("secret", { parts: PARTS })]),
    go: (provider) => provider.deleteMessage("s", "secret"),
  },
  {
    name: "a message that was truncated",
    come: (provider) => provider.logMessages("s", [message("secret", { parts: PARTS })]),
    go: (provider) => provider.truncateMessages("s", "m2"),
  },
  {
    name: "content that an update brought",
    async come(provider) {
      await provider.logMessages("s", messages("secret"));
      await provider.updateMessage("s", "secret", { parts: PARTS });
    },
    go: (provider) => provider.logMessages("s", messages("m9")),
  },
  {
    name: "content that an update replaced",
    async come(provider) {
      await provider.logMessages("s", [message("secret", { parts: PARTS })]);
      await provider.updateMessage("s", "secret", { parts: [] });
    },
    go: async () => {},
  },
  {
    name: "a draft that was finished",
    async come(provider) {
      await provider.startDraft("s", message("open"));
      await provider.startDraft("s", message("secret", { parts: PARTS }));
      await provider.extendDraft("s", "secret", 1, MORE);
    },
    go: (provider) => provider.finishDraft("s", "secret", { version: 2 }),
  },
  {
    name: "a draft that was finished, and its message truncated",
    async come(provider) {
      await provider.startDraft("s", message("secret", { parts: PARTS }));
      await provider.extendDraft("s", "secret", 1, MORE);
    },
    async go(provider) {
      await provider.finishDraft("s", "secret", { version: 2 });
      await provider.truncateMessages("s", "m2");
    },
  },
  {
    name: "a draft that was discarded",
    async come(provider) {
      await provider.startDraft("s", message("secret", { parts: PARTS }));
      await provider.extendDraft("s", "secret", 1, MORE);
    },
    async go(provider) {
      await provider.discardDraft("s", "secret");
      await provider.startDraft("s", message("open"));
    },
  },
];

/** A follower that reads slowly gets nothing that was erased before it came to it. */
export function describeSlowFollowers(subject: StorageProviderSubject): void {
  describe.each(WAYS)("a slow follower of $name that was erased", ({ come, go }) => {
    it.each([
      ["has events waiting, in the process that erases", "waits", "same"],
      ["has events waiting, in another process", "waits", "other"],
      ["is catching up, in the process that erases", "catches up", "same"],
      ["is catching up, in another process", "catches up", "other"],
    ])("and %s", async (_, state, where) => {
      const eraser = subject.open();
      const provider =
        where === "same" ? eraser : subject.open({ heartbeatMs: 100, pollMs: { first: 5, most: 50 }, chunk: 100 });
      await sessionWith(eraser, "s", ["m1", "m2"]);
      if (state === "catches up") await come(eraser);
      const slow = await new Follower().open(provider, 0);
      const quick = await new Follower().open(provider, 0);
      await slow.read();
      if (state === "waits") {
        await slow.read();
        const third = slow.read();
        await eraser.startDraft("s", message("first"));
        await third;
        await come(eraser);
      }
      await quick.until(await shownBy(eraser));
      const before = slow.got.length;
      await go(eraser);
      await eraser.eraseMessage("s", "secret");
      const shown = await shownBy(eraser);
      expect(shown).not.toContain(SECRET);
      // Both followers of a process are told at the same moment, and this one has nothing left to read by itself.
      await quick.until(shown);
      await slow.until(shown);
      expect(JSON.stringify(slow.got.slice(before))).not.toContain(SECRET);
      await eraser.logMessages("s", messages("last"));
      await slow.until(await shownBy(eraser));
      slow.close();
      quick.close();
    });
  });

  it("a slow follower of a session that was deleted gets nothing of it any more", async () => {
    await sessionWith(subject.provider, "s", ["m1"]);
    const slow = await new Follower().open(subject.other, 0);
    const quick = await new Follower().open(subject.other, 0);
    await slow.read();
    const second = slow.read();
    await subject.provider.logMessages("s", messages("m2"));
    await second;
    await subject.provider.logMessages("s", [message("secret", { parts: PARTS })]);
    await quick.until(await shownBy(subject.provider));
    await subject.provider.deleteSession("s");
    await expect(quick.drain()).rejects.toMatchObject({ code: "not_found" });
    await subject.provider.eraseMessage("s", "secret");
    await expect(slow.read()).rejects.toMatchObject({ code: "not_found" });
  });
}
