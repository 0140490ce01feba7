import { describe, expect, it } from "vitest";
import type { ChatMessage, Part } from "../../../src/domain/chat-message.js";
import { DraftContent } from "../../../src/domain/draft-content.js";
import type { FollowEvent, FollowPosition } from "../../../src/domain/page.js";
import { says } from "./drafts.js";
import { message, messageAt, numbered, SECOND, sessionWith, T0 } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

type Provider = StorageProviderSubject["provider"];

interface Shown {
  readonly version: number;
  readonly content: DraftContent;
}

/** Shows a session like a web page that knows only the events it receives. */
class Page {
  readonly messages: ChatMessage[] = [];
  readonly drafts = new Map<string, Shown>();
  readonly told: string[] = [];
  at: FollowPosition | undefined;
  readonly #gone = new AbortController();
  #events: AsyncIterator<FollowEvent> | undefined;

  async open(provider: Provider, from: number | FollowPosition | undefined = 0): Promise<void> {
    const events = await provider.followMessages("s", from, { signal: this.#gone.signal });
    this.#events = events[Symbol.asyncIterator]();
  }

  /** Applies events until the page shows this. */
  async until(isShown: (page: Page) => boolean): Promise<void> {
    while (!isShown(this)) {
      const next = await this.#events?.next();
      if (next === undefined || next.done) throw new Error("The events have ended");
      this.#apply(next.value);
    }
  }

  text(id: string): string | undefined {
    const parts: readonly Part[] | undefined =
      this.drafts.get(id)?.content.parts ?? this.messages.find((one) => one.id === id)?.parts;
    return parts?.map(({ text }) => text).join("|");
  }

  async close(): Promise<void> {
    this.#gone.abort();
    await this.#events?.return?.();
  }

  #apply(event: FollowEvent): void {
    this.at = event.at;
    switch (event.kind) {
      case "appended":
        this.messages.push(event.message);
        this.told.push(`appended ${event.message.id}`);
        break;
      case "truncated":
        this.messages.length = event.messageCount;
        this.told.push(`truncated ${event.messageCount}`);
        break;
      case "draft": {
        const { message, version } = event.draft;
        expect(this.messages.map(({ id }) => id)).not.toContain(message.id);
        this.drafts.set(message.id, { version, content: new DraftContent(message.parts) });
        this.told.push(`draft ${message.id}`);
        break;
      }
      case "draft_extended": {
        const shown = this.drafts.get(event.messageId) as Shown;
        expect(event.version).toBeGreaterThan(shown.version);
        shown.content.apply(event.deltas);
        this.drafts.set(event.messageId, { ...shown, version: event.version });
        this.told.push(`extended ${event.messageId}`);
        break;
      }
      case "draft_ended":
        this.told.push(`${event.finished ? "finished" : "discarded"} ${event.messageId}`);
        this.#endDraft(event.messageId, event.finished);
    }
  }

  /** Checks that the events about a draft add up to the message that replaces it. */
  #endDraft(id: string, isFinished: boolean): void {
    const parts = this.drafts.get(id)?.content.parts;
    const found = this.messages.find((one) => one.id === id);
    expect(found?.parts).toEqual(isFinished ? parts : undefined);
    this.drafts.delete(id);
  }
}

export function describeDraftFollowing(subject: StorageProviderSubject): void {
  const watching = async (run: (page: Page) => Promise<void>, provider = subject.provider) => {
    const page = new Page();
    try {
      await page.open(provider);
      await run(page);
    } finally {
      await page.close();
    }
  };
  const start = (id: string, given = {}) =>
    subject.provider.startDraft("s", { id, role: "assistant", parts: [], ...given });
  const extend = (id: string, version: number, text: string) =>
    subject.provider.extendDraft("s", id, version, [says(text)]);

  describe("followMessages with drafts", () => {
    it.each(["the same process", "another process"])(
      "reports a draft from its start to its end, in %s",
      async (where) => {
        await sessionWith(subject.provider, "s", ["m1"]);
        await watching(
          async (page) => {
            await page.until(({ messages }) => messages.length === 1);
            await start("d");
            await page.until(({ drafts }) => drafts.has("d"));
            await extend("d", 1, "one");
            await page.until(() => page.text("d") === "one");
            await extend("d", 2, " two");
            await extend("d", 3, " three");
            await page.until(() => page.text("d") === "one two three");
            await subject.provider.finishDraft("s", "d", { version: 4, deltas: [says(".")] });
            await page.until(({ told }) => told.includes("finished d"));
            expect(page.told.slice(-2)).toEqual(["appended d", "finished d"]);
            expect(page.text("d")).toBe("one two three.");
            expect(page.drafts.size).toBe(0);
          },
          where === "the same process" ? subject.provider : subject.other,
        );
      },
    );

    it("reports open drafts in full when it begins and when it resumes", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      await start("d");
      await extend("d", 1, "a");
      let at: FollowPosition | undefined;
      await watching(async (page) => {
        await page.until(({ drafts }) => drafts.has("d"));
        expect(page.told).toEqual(["appended m1", "appended m2", "draft d"]);
        expect(page.text("d")).toBe("a");
        at = page.at;
      });
      await extend("d", 2, "b");
      const page = new Page();
      await page.open(subject.other, at);
      await page.until(({ drafts }) => drafts.has("d"));
      expect(page.told).toEqual(["draft d"]);
      expect(page.text("d")).toBe("ab");
      expect(page.drafts.get("d")?.version).toBe(3);
      await page.close();
    });

    it("reports the version of a draft that was renewed", async () => {
      await sessionWith(subject.provider, "s");
      await subject.provider.startDraft("s", { id: "d", role: "assistant", parts: [] });
      const page = new Page();
      await page.open(subject.other);
      await page.until(({ drafts }) => drafts.has("d"));
      await subject.provider.extendDraft("s", "d", 1, []);
      await page.until(({ drafts }) => drafts.get("d")?.version === 2);
      await subject.provider.extendDraft("s", "d", 2, [says("on")]);
      await page.until(({ drafts }) => drafts.get("d")?.version === 3);
      expect(page.text("d")).toBe("on");
      await page.close();
    });

    it("repeats nothing to a follower that joins while a draft grows", async () => {
      await sessionWith(subject.provider, "s");
      await start("d");
      const pages: Page[] = [];
      for (let version = 1; version <= 20; version++) {
        await extend("d", version, `${version},`);
        const page = new Page();
        pages.push(page);
        await page.open(version % 2 ? subject.provider : subject.other);
        await page.until(({ drafts }) => drafts.has("d"));
      }
      await subject.provider.finishDraft("s", "d", { version: 21 });
      for (const page of pages) {
        await page.until(({ told }) => told.includes("finished d"));
        expect(page.told.filter((event) => event === "draft d")).toHaveLength(1);
        expect(page.text("d")).toBe(
          numbered(20, "")
            .map((n) => `${n},`)
            .join(""),
        );
        await page.close();
      }
    });

    it("reports that a draft was discarded, also by a truncate", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      await start("d");
      await start("e");
      await watching(async (page) => {
        await page.until(({ drafts }) => drafts.size === 2);
        await subject.other.discardDraft("s", "d");
        await page.until(({ told }) => told.includes("discarded d"));
        await subject.other.truncateMessages("s", "m1");
        await page.until(({ told }) => told.includes("truncated 1"));
        expect(page.told).toContain("discarded e");
        await subject.other.logMessages("s", [message("m3")]);
        await page.until(({ told }) => told.includes("appended m3"));
        expect(page.drafts.size).toBe(0);
      });
    });

    it("reports a draft's message where its time belongs", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m1", 1), messageAt("m3", 3)]);
      subject.nowMicros = T0 + 9 * SECOND;
      await start("d", { timestampMicros: T0 + 2 * SECOND });
      await extend("d", 1, "a");
      await watching(async (page) => {
        await page.until(({ drafts }) => drafts.has("d"));
        await subject.other.finishDraft("s", "d", { version: 2 });
        await page.until(({ messages }) => messages.length === 3 && messages[2]?.id === "m3");
        // A page that catches up after a change may be told once more of the draft that it knows.
        const told = page.told.slice(page.told.indexOf("truncated 1")).filter((event) => event !== "draft d");
        expect(told, page.told.join("; ")).toEqual(["truncated 1", "appended d", "finished d", "appended m3"]);
      });
    });
  });
}
