import { expect, it } from "vitest";
import { MemoryLogDatabase } from "../../src/storage/memory/memory-log-database.js";
import { said, tree } from "../support/chatgpt-export.js";
import { dyingStore } from "./dying-store.js";
import { backupOf, fileOf, importInto } from "./import-killed.js";

type Nodes = Parameters<typeof tree>[1];

const BEGIN: Nodes = [
  ["root", null],
  ["u1", "root", said("u1", "user", "u1")],
  ["a1", "u1", said("a1", "assistant", "a1")],
  ["u2", "a1", said("u2", "user", "u2")],
];
const GROWN: Nodes = [
  ...BEGIN,
  ["b1", "u1", said("b1", "assistant", "b1")],
  ["a2", "u2", said("a2", "assistant", "a2")],
  ["c2", "u2", said("c2", "assistant", "c2")],
  ["d2", "b1", said("d2", "user", "d2")],
];

/** The files of two exports, each with a second conversation. */
const FILES = [BEGIN, GROWN].map((nodes) => JSON.stringify([tree("s", nodes), tree("t", BEGIN)]));

it("an import of another program's file that was killed and is run again ends as one that was not", async () => {
  const paths = FILES.map(fileOf);
  const storeOf = () => new MemoryLogDatabase({ now: () => 1_750_000_000_000 }).namespace("default");
  const whole = storeOf();
  for (const path of paths) await importInto(whole, path);
  const expected = await backupOf(whole);
  for (const count of [1, 2]) {
    let isKilled = true;
    for (let killedAt = 1; isKilled; killedAt++) {
      const store = storeOf();
      for (const path of paths.slice(0, count - 1)) await importInto(store, path);
      const first = await importInto(dyingStore(store, killedAt).store, paths[count - 1] as string).catch(
        (error: Error) => error,
      );
      if (first) expect(first.message).toMatch(/^The process (was killed|is dead)$/);
      isKilled = first !== undefined;
      for (const path of paths.slice(count - 1)) await importInto(store, path);
      expect(await backupOf(store), `killed at call ${killedAt} of import ${count}`).toBe(expected);
    }
  }
});
