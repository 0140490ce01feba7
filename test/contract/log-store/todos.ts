import { describe, expect, it } from "vitest";
import type { Todo } from "../../../src/domain/todo.js";
import { ODD_TEXTS } from "./fixtures.js";
import type { LogStoreSubject } from "./subject.js";

export function describeTodos(subject: LogStoreSubject): void {
  describe("todos", () => {
    it("are empty at revision 0 until they are written", async () => {
      expect(await subject.store.readTodos()).toEqual({ todos: [], revision: 0 });
    });

    it("are replaced as a whole at the given revision, which increases by 1", async () => {
      const one = [todo("b"), todo("a")];
      expect(await subject.store.replaceTodos(one, 0)).toBe(true);
      expect(await subject.store.readTodos()).toEqual({ todos: one, revision: 1 });
      const two = [todo("c")];
      expect(await subject.store.replaceTodos(two, 1)).toBe(true);
      expect(await subject.store.replaceTodos([], 2)).toBe(true);
      expect(await subject.store.readTodos()).toEqual({ todos: [], revision: 3 });
    });

    it("do not change at another revision", async () => {
      expect(await subject.store.replaceTodos([todo("a")], 1)).toBe(false);
      expect(await subject.store.readTodos()).toEqual({ todos: [], revision: 0 });
      await subject.store.replaceTodos([todo("a")], 0);
      expect(await subject.store.replaceTodos([todo("b")], 0)).toBe(false);
      expect(await subject.store.replaceTodos([todo("b")], 2)).toBe(false);
      expect(await subject.store.readTodos()).toEqual({ todos: [todo("a")], revision: 1 });
    });

    it("let one of many writers win, the first time and later", async () => {
      for (const revision of [0, 1]) {
        const ids = Array.from({ length: 10 }, (_, i) => `${revision} ${i}`);
        const outcomes = await Promise.all(ids.map((id) => subject.store.replaceTodos([todo(id)], revision)));
        expect(outcomes.filter((won) => won)).toHaveLength(1);
        const winner = ids[outcomes.indexOf(true)] as string;
        expect(await subject.store.readTodos()).toEqual({ todos: [todo(winner)], revision: revision + 1 });
      }
    });

    it("keep odd texts, and equal ones, in their order", async () => {
      const todos = [...ODD_TEXTS, "", "", "$set"].map((text) => ({
        id: text,
        content: text,
        status: text,
        priority: text,
      }));
      await subject.store.replaceTodos(todos, 0);
      expect((await subject.store.readTodos()).todos).toEqual(todos);
    });

    it("can be 10,000 in number", async () => {
      const todos = Array.from({ length: 10_000 }, (_, i) => todo(`id ${i}`));
      await subject.store.replaceTodos(todos, 0);
      expect((await subject.store.readTodos()).todos).toEqual(todos);
    });
  });
}

function todo(id: string): Todo {
  return { id, content: `content of ${id}`, status: "open", priority: "high" };
}
