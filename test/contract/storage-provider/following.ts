import { describe, expect, it } from "vitest";
import type { FollowEvent, FollowPosition } from "../../../src/domain/page.js";
import { history, message, messageAt, messages, numbered, refusal, sessionWith } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

/** Follows a session and applies the events to its own copy of the history. */
class Follower {
  ids: string[] = [];
  at: FollowPosition | undefined;
  readonly told: string[] = [];
  readonly #gone = new AbortController();
  #events: AsyncIterator<FollowEvent> | undefined;

  async begin(provider: StorageProviderSubject["provider"], sessionId: string, from?: number | FollowPosition) {
    const events = await provider.followMessages(sessionId, from, { signal: this.#gone.signal });
    this.#events = events[Symbol.asyncIterator]();
  }

  async next(): Promise<FollowEvent> {
    const next = await this.#events?.next();
    if (next === undefined || next.done) throw new Error("The events have ended");
    return next.value;
  }

  /** Applies events until the copy has these ids. */
  async until(expected: readonly string[]): Promise<void> {
    while (this.ids.join() !== expected.join()) this.#apply(await this.next());
  }

  async end(): Promise<void> {
    this.#gone.abort();
    await this.#events?.return?.();
  }

  #apply(event: FollowEvent): void {
    this.at = event.at;
    if (event.kind === "appended") {
      expect(event.message.position).toBe(this.ids.length);
      this.ids.push(event.message.id);
      this.told.push(event.message.id);
    } else if (event.kind === "updated") {
      const { id, position = -1 } = event.message;
      expect(this.ids[position]).toBe(id);
      this.told.push(`updated ${id}: ${event.message.parts[0]?.text}`);
    } else if (event.kind === "deleted") {
      expect(this.ids.splice(event.position, 1)).toEqual([event.messageId]);
      this.told.push(`deleted ${event.messageId}`);
    } else if (event.kind === "truncated") {
      this.ids.length = event.messageCount;
      this.told.push(`truncated ${event.messageCount}`);
    }
    expect(event.at.position).toBe(this.ids.length);
  }
}

export function describeFollowing(subject: StorageProviderSubject): void {
  const following = async (run: (follower: Follower) => Promise<void>) => {
    const follower = new Follower();
    try {
      await run(follower);
    } finally {
      await follower.end();
    }
  };

  describe("followMessages", () => {
    it("reports what is appended from the moment it has resolved", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      await following(async (follower) => {
        await follower.begin(subject.provider, "s");
        follower.ids = ["m1"];
        await subject.provider.logMessages("s", messages("m2", "m3"));
        await follower.until(numbered(3));
        expect(follower.told).toEqual(["m2", "m3"]);
      });
    });

    it("begins at a position", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      await following(async (follower) => {
        await follower.begin(subject.provider, "s", 0);
        await follower.until(numbered(3));
        await subject.provider.logMessages("s", [message("m4")]);
        await follower.until(numbered(4));
      });
    });

    it("accepts the position after the last message, and refuses a later one", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      await following(async (follower) => {
        await follower.begin(subject.provider, "s", 2);
        follower.ids = ["m1", "m2"];
        await subject.provider.logMessages("s", [message("m3")]);
        await follower.until(numbered(3));
      });
      await refusal(subject.provider.followMessages("s", 4), "invalid_argument");
      await refusal(subject.provider.followMessages("nobody", 0), "not_found");
    });

    it("reports what another provider appends", async () => {
      await sessionWith(subject.provider, "s");
      await following(async (follower) => {
        await follower.begin(subject.provider, "s", 0);
        for (const id of numbered(3)) await subject.other.logMessages("s", [message(id)]);
        await follower.until(numbered(3));
      });
    });

    it("reports an edit as truncated and then appended", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m1", 10), messageAt("m2", 20), messageAt("m3", 30)]);
      await following(async (follower) => {
        await follower.begin(subject.provider, "s", 0);
        await follower.until(["m1", "m2", "m3"]);
        await subject.provider.logMessages("s", [messageAt("a", 15)]);
        await follower.until(["m1", "a", "m2", "m3"]);
        await subject.other.truncateMessages("s", "a");
        await follower.until(["m1", "a"]);
        expect(follower.told).toEqual(["m1", "m2", "m3", "truncated 1", "a", "m2", "m3", "truncated 2"]);
      });
    });

    it("reports an edit of one message as such, and also the next one", async () => {
      await sessionWith(subject.provider, "s", numbered(4));
      await following(async (follower) => {
        await follower.begin(subject.provider, "s", 0);
        await follower.until(numbered(4));
        const update = subject.other.updateMessage("s", "m2", { parts: [{ id: "", type: "text", text: "new" }] });
        await follower.next().then((event) => {
          expect(event).toMatchObject({ kind: "updated", message: { id: "m2", position: 1 }, at: { position: 4 } });
        });
        await update;
        await subject.other.deleteMessage("s", "m1");
        await follower.until(["m2", "m3", "m4"]);
        await subject.other.deleteMessage("s", "m4");
        await follower.until(["m2", "m3"]);
        await subject.provider.logMessages("s", [message("m5")]);
        await follower.until(["m2", "m3", "m5"]);
        expect(follower.told).toEqual([...numbered(4), "deleted m1", "deleted m4", "m5"]);
      });
    });

    it.each([
      ["an update", ["updated m2: new", "m5"], numbered(5)],
      ["a delete", ["deleted m2", "m5"], ["m1", "m3", "m4", "m5"]],
      ["an update of a message that was not reported yet", ["m4", "m5"], numbered(5)],
      ["two updates", ["truncated 0", ...numbered(5)], numbered(5)],
      ["an update and an older message", ["truncated 0", "a", ...numbered(5)], ["a", ...numbered(5)]],
      ["a delete and an update of the title", ["deleted m2", "m5"], ["m1", "m3", "m4", "m5"]],
      ["an update to the same content", ["m5"], numbered(5)],
    ])("reports what changed when it resumes after %s and an append", async (what, told, ids) => {
      const { provider, other } = subject;
      await sessionWith(provider, "s", [messageAt("m1", 1), ...["m2", "m3", "m4"]]);
      const update = (id: string) => other.updateMessage("s", id, { parts: [{ id: "", type: "text", text: "new" }] });
      await following(async (first) => {
        await first.begin(provider, "s", 0);
        const seen = what.includes("not reported yet") ? numbered(3) : numbered(4);
        await first.until(seen);
        await first.end();
        if (what.includes("not reported yet")) await update("m4");
        else if (what.includes("same content")) await other.updateMessage("s", "m2", { role: "user" });
        else if (what.includes("delete")) await other.deleteMessage("s", "m2");
        else await update("m2");
        if (what.includes("two")) await update("m1");
        if (what.includes("older")) await other.logMessages("s", [messageAt("a", 0)]);
        if (what.includes("title")) await provider.updateSession("s", { title: "new" });
        await other.logMessages("s", [message("m5")]);
        await following(async (second) => {
          second.ids = [...seen];
          await second.begin(provider, "s", first.at);
          await second.until(ids);
          expect(second.told).toEqual(told);
        });
      });
    });

    it("reports nothing for an edit that changes no message", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      await following(async (follower) => {
        await follower.begin(subject.provider, "s", 0);
        await follower.until(numbered(2));
        await subject.provider.updateSession("s", { title: "t" });
        await subject.provider.logMessages("s", [message("m3")]);
        await follower.until(numbered(3));
        expect(follower.told).toEqual(numbered(3));
      });
    });

    it("continues where it stood, also after edits and on another provider", async () => {
      await sessionWith(subject.provider, "s", numbered(4));
      await following(async (first) => {
        await first.begin(subject.provider, "s", 0);
        await first.until(numbered(4));
        const { at, ids } = first;
        await subject.provider.truncateMessages("s", "m2");
        await subject.other.logMessages("s", messages("a", "b"));
        await following(async (second) => {
          second.ids = [...ids];
          await second.begin(subject.other, "s", at);
          await second.until(["m1", "m2", "a", "b"]);
          expect(second.told[0]).toBe("truncated 2");
        });
      });
    });

    it("continues after far more edits than are remembered", async () => {
      const provider = subject.open({ maxEdits: 2 });
      await sessionWith(provider, "s", numbered(4));
      await following(async (first) => {
        await first.begin(provider, "s", 0);
        await first.until(numbered(4));
        await first.end();
        for (const id of ["m3", "m2", "m1"]) await provider.truncateMessages("s", id);
        await provider.logMessages("s", [message("x")]);
        await following(async (second) => {
          second.ids = [...first.ids];
          await second.begin(provider, "s", first.at);
          await second.until(["m1", "x"]);
        });
      });
    });

    it("ends with not_found when the session is deleted", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      await following(async (follower) => {
        await follower.begin(subject.provider, "s");
        await subject.other.deleteSession("s");
        await refusal(follower.next(), "not_found");
      });
    });

    it("does not mistake a session made again for the one it followed", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      await following(async (follower) => {
        await follower.begin(subject.provider, "s", 0);
        await follower.until(["m1"]);
        const { at } = follower;
        await subject.provider.deleteSession("s");
        await sessionWith(subject.provider, "s", ["x", "y"]);
        await refusal(subject.provider.followMessages("s", at), "invalid_argument");
      });
    });

    it("reports everything to every follower, however many there are", async () => {
      await sessionWith(subject.provider, "s");
      const followers = Array.from({ length: 20 }, () => new Follower());
      for (const follower of followers) await follower.begin(subject.provider, "s", 0);
      for (const id of numbered(5)) await subject.provider.logMessages("s", [message(id)]);
      await Promise.all(followers.map((follower) => follower.until(numbered(5))));
      await Promise.all(followers.map((follower) => follower.end()));
    });

    it("ends in exactly the history, whatever happens meanwhile", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      await following(async (follower) => {
        await follower.begin(subject.other, "s", 0);
        for (let i = 0; i < 10; i++) {
          await subject.provider.logMessages("s", messages(`a${i}`, `b${i}`));
          if (i % 3 === 0) await subject.provider.truncateMessages("s", `a${i}`, { keepForUnrevert: i % 2 === 0 });
          if (i % 6 === 0) await subject.provider.restoreMessages("s");
          if (i % 4 === 0) await subject.provider.logMessages("s", [messageAt(`c${i}`, -i)]);
          if (i % 5 === 1) await subject.provider.updateMessage("s", "m2", { role: `r${i}` });
          if (i % 5 === 3) await subject.provider.deleteMessage("s", `b${i - 1}`);
        }
        await follower.until(await history(subject.provider, "s"));
      });
    });

    it("ends when the call is aborted", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      const gone = new AbortController();
      const events = await subject.provider.followMessages("s", undefined, { signal: gone.signal });
      const next = events[Symbol.asyncIterator]().next();
      gone.abort();
      await refusal(next, "canceled");
    });
  });
}
