import { describe, expect, it } from "vitest";
import { ODD_TEXTS } from "./fixtures.js";
import type { LogStoreSubject } from "./subject.js";

/** The registers of a database. A database without registers skips these cases. */
export function describeRegisters(subject: LogStoreSubject): void {
  describe("registers", () => {
    it("are missing until they are written", async (context) => {
      const registers = registersOf(context);
      expect(await registers.read("a")).toBeNull();
      expect(await registers.replace("a", "one", 0)).toBe(true);
      expect(await registers.read("b")).toBeNull();
    });

    it("are replaced at their revision, which increases by 1", async (context) => {
      const registers = registersOf(context);
      expect(await registers.replace("a", "one", 0)).toBe(true);
      expect(await registers.read("a")).toEqual({ text: "one", revision: 1 });
      expect(await registers.replace("a", "", 1)).toBe(true);
      expect(await registers.replace("a", "three", 2)).toBe(true);
      expect(await registers.read("a")).toEqual({ text: "three", revision: 3 });
    });

    it("do not change at another revision", async (context) => {
      const registers = registersOf(context);
      expect(await registers.replace("a", "one", 1)).toBe(false);
      expect(await registers.read("a")).toBeNull();
      await registers.replace("a", "one", 0);
      expect(await registers.replace("a", "two", 0)).toBe(false);
      expect(await registers.replace("a", "two", 2)).toBe(false);
      expect(await registers.read("a")).toEqual({ text: "one", revision: 1 });
    });

    it("let one of many writers win, the first time and later", async (context) => {
      const registers = registersOf(context);
      for (const revision of [0, 1]) {
        const texts = Array.from({ length: 10 }, (_, i) => `${revision} ${i}`);
        const outcomes = await Promise.all(texts.map((text) => registers.replace("a", text, revision)));
        expect(outcomes.filter((won) => won)).toHaveLength(1);
        const text = texts[outcomes.indexOf(true)];
        expect(await registers.read("a")).toEqual({ text, revision: revision + 1 });
      }
    });

    it("keep odd names and texts apart", async (context) => {
      const registers = registersOf(context);
      for (const text of ODD_TEXTS) expect(await registers.replace(`name ${text}`, text, 0), text).toBe(true);
      for (const text of ODD_TEXTS) expect((await registers.read(`name ${text}`))?.text).toBe(text);
    });

    it("make no namespaces", async (context) => {
      await registersOf(context).replace("a", "one", 0);
      expect(await subject.database.listNamespaces()).toEqual([]);
    });

    it("are shared by all processes", async (context) => {
      registersOf(context);
      const [first, second] = await subject.openTogether(2);
      if (!first?.registers || !second?.registers) return context.skip("only one process can use this store");
      await first.registers.replace("a", "one", 0);
      expect(await second.registers.read("a")).toEqual({ text: "one", revision: 1 });
      expect(await second.registers.replace("a", "two", 1)).toBe(true);
      expect(await first.registers.replace("a", "other", 1)).toBe(false);
    });
  });

  function registersOf({ skip }: { skip(reason: string): never }) {
    return subject.database.registers ?? skip("this store has no registers");
  }
}
