import { type Collection, MongoNetworkError, ObjectId } from "mongodb";
import { expect, it } from "vitest";
import type { TodosDocument } from "../../../../src/storage/mongodb/mongo-collections.js";
import { MongoCommands } from "../../../../src/storage/mongodb/mongo-commands.js";
import { MongoTodos } from "../../../../src/storage/mongodb/mongo-todos.js";
import { WriteIds } from "../../../../src/storage/mongodb/write-ids.js";

/** Todos in a collection that loses its first answer, and then holds another writer's list at this revision. */
function todosThatHold(revision: number): MongoTodos {
  let sends = 0;
  const todos = {
    replaceOne: async () => {
      if (sends++ === 0) throw new MongoNetworkError("lost");
      return { matchedCount: 0 };
    },
    findOne: async () => ({ todos: [], revision, write: new ObjectId() }),
  } as unknown as Collection<TodosDocument>;
  const safeReads = { options: { readConcern: { level: "majority" } } } as const;
  return new MongoTodos("default", todos, new MongoCommands(5000), new WriteIds(), safeReads);
}

it("replace returns false after a lost answer when another list came first", async () => {
  expect(await todosThatHold(4).replace([], 3)).toBe(false);
});

it("replace fails with unavailable after a lost answer when the list has changed since", async () => {
  await expect(todosThatHold(5).replace([], 3)).rejects.toMatchObject({ code: "unavailable" });
});
