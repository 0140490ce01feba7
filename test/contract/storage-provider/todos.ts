import { describe, expect, it } from "vitest";
import type { Todo } from "../../../src/domain/todo.js";
import { sessionWith } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

const TODOS: readonly Todo[] = [
  { id: "t2", content: "second\u0000", status: "pending", priority: "high" },
  { id: "t1", content: "", status: "", priority: "" },
];

export function describeTodos(subject: StorageProviderSubject): void {
  describe("readTodos and replaceTodos", () => {
    it("begin with an empty list of revision 0", async () => {
      expect(await subject.provider.readTodos()).toEqual({ todos: [], revision: 0 });
    });

    it("keep the list in its order, for every provider", async () => {
      expect(await subject.provider.replaceTodos(TODOS, 0)).toBe(true);
      expect(await subject.other.readTodos()).toEqual({ todos: TODOS, revision: 1 });
      expect(await subject.other.replaceTodos([], 1)).toBe(true);
      expect(await subject.provider.readTodos()).toEqual({ todos: [], revision: 2 });
    });

    it("replace only the list that was read", async () => {
      await subject.provider.replaceTodos(TODOS, 0);
      expect(await subject.other.replaceTodos([], 0)).toBe(false);
      expect(await subject.other.replaceTodos([], 2)).toBe(false);
      expect(await subject.provider.readTodos()).toEqual({ todos: TODOS, revision: 1 });
    });

    it("let one of many concurrent replacements win", async () => {
      const tries = Array.from({ length: 6 }, (_, i) =>
        (i % 2 ? subject.other : subject.provider).replaceTodos(TODOS.slice(0, 1), 0),
      );
      expect((await Promise.all(tries)).filter((won) => won)).toHaveLength(1);
      expect(await subject.provider.readTodos()).toMatchObject({ revision: 1 });
    });

    it("are not affected by sessions being made, forked, shared and deleted", async () => {
      await subject.provider.replaceTodos(TODOS, 0);
      await sessionWith(subject.provider, "s", ["m1"]);
      await subject.provider.forkConversation("s", "f", { as: "fork" });
      await subject.provider.forkConversation("s", "g", { as: "share" });
      await subject.provider.deleteSession("s");
      expect(await subject.other.readTodos()).toEqual({ todos: TODOS, revision: 1 });
    });

    it("hold 10,000 todos", async () => {
      const many = Array.from({ length: 10_000 }, (_, i) => ({
        id: `t${i}`,
        content: "c",
        status: "s",
        priority: "p",
      }));
      await subject.provider.replaceTodos(many, 0);
      expect((await subject.other.readTodos()).todos).toEqual(many);
    });
  });
}
