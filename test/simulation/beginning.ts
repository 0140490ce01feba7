import type { Operation } from "./operations.js";
import { OWNERS, type ProfileName } from "./profiles.js";
import type { Random } from "./random.js";

/**
 * The operations that make the first sessions, one after the other: always "a", mostly its fork "b", and mostly an
 * empty session "c".
 */
export function beginningOf(random: Random, profile: ProfileName): readonly Operation[] {
  const messages = Array.from({ length: 1 + random.int(4) }, (_, i) => ({ id: `m${i}`, ts: i + 1, body: "x" }));
  const isGrace = profile === "grace";
  const first: Operation[] = [
    { op: "create", id: "a", parent: null, title: null },
    { op: "append", id: "a", messages, expected: null },
  ];
  const more: Operation = { op: "append", id: "b", messages: [{ id: "m5", ts: 2, body: "x" }], expected: null };
  if (isGrace || random.chance(profile === "births" ? 0.2 : 0.7)) {
    first.push({ op: "fork", id: "a", to: "b", mid: null });
    if (isGrace || random.chance(0.3)) first.push(more);
  }
  if (isGrace) first.push({ op: "delete", id: "a" });
  else if (random.chance(0.3)) first.push({ op: "revert", id: "a", mid: "m0" });
  if (!isGrace && random.chance(0.7)) {
    first.push({ op: "create", id: "c", parent: random.chance(0.5) ? "a" : null, title: null });
  }
  if (profile === "owners") first.push({ op: "give", id: "a", owner: random.pick(OWNERS) });
  return first;
}
