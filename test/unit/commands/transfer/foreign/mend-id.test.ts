import { expect, it } from "vitest";
import { TakenIds } from "../../../../../src/commands/transfer/foreign/mend-id.js";

it("one id can occur any number of times", () => {
  const count = 50_000;
  const taken = new TakenIds(["id~3"]);
  const given = Array.from({ length: count }, () => {
    const id = taken.free("id", 256);
    taken.add(id);
    return id;
  });
  expect(given.slice(0, 3)).toEqual(["id", "id~2", "id~4"]);
  expect(given.at(-1)).toBe(`id~${count + 1}`);
  expect(new Set(given).size).toBe(count);
  expect(taken.size).toBe(count + 1);
});
