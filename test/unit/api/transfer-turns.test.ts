import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { inTurns } from "../../../src/api/transfer-turns.js";

async function* chunks(count: number, bytes: number): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < count; i++) yield Buffer.alloc(bytes, i);
}

it("takes one piece of one transfer in each iteration of the event loop", async () => {
  let taken = 0;
  let isOver = false;
  const read = async () => {
    for await (const _chunk of inTurns(chunks(20, 256 * 1024))) taken += 1;
  };
  const transfers = Promise.all(Array.from({ length: 8 }, read)).then(() => {
    isOver = true;
  });
  let most = 0;
  while (!isOver) {
    const before = taken;
    await setImmediate();
    most = Math.max(most, taken - before);
  }
  await transfers;
  expect([taken, most]).toEqual([160, 1]);
});

it("passes on what arrives in small chunks, in order", async () => {
  const seen: number[] = [];
  for await (const chunk of inTurns(chunks(100, 10_000))) seen.push(chunk[0] as number);
  expect(seen).toEqual(Array.from({ length: 100 }, (_none, i) => i));
});
