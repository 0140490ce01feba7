import { expect, it } from "vitest";
import { UidSet } from "../../../../../src/storage/history/sums/uid-set.js";

it("a set of uids knows what was added, also uids of other forms", () => {
  const set = new UidSet();
  const uids = Array.from({ length: 5000 }, (_, i) => (i * 2_654_435_761).toString(16).padStart(24, "0"));
  const others = ["", "u1", "0".repeat(23), "F".repeat(24), "0".repeat(24), "f".repeat(24)];
  for (const uid of [...uids, ...others]) {
    if (uid !== uids[0]) expect(set.has(uid), uid).toBe(uid === "0".repeat(24));
    set.add(uid);
    set.add(uid);
    expect(set.has(uid)).toBe(true);
  }
  expect([...uids, ...others].every((uid) => set.has(uid))).toBe(true);
  expect(set.has("1".repeat(24))).toBe(false);
});
