import fc from "fast-check";
import { expect, it } from "vitest";
import { HistoryTree, lastCommon } from "../../../../../src/commands/transfer/foreign/history-tree.js";

const histories = fc.array(fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 5 }), { maxLength: 12 });

function commonLength(a: readonly string[], b: readonly string[]): number {
  const differing = a.findIndex((id, i) => id !== b[i]);
  return differing < 0 ? a.length : differing;
}

/** What the tree should find: the same history, the first longer one, or the first of the longest shorter ones. */
function expected(stored: readonly (readonly string[])[], ids: readonly string[]): number | undefined {
  const ranked = stored.flatMap((other, i) => {
    const common = commonLength(other, ids);
    if (common !== other.length && common !== ids.length) return [];
    return [{ i, rank: common + (other.length === ids.length ? 1 : 0) }];
  });
  return ranked.sort((a, b) => b.rank - a.rank || a.i - b.i)[0]?.i;
}

it("takes each history once, the nearest one first", () => {
  fc.assert(
    fc.property(histories, histories, (stored, wanted) => {
      const tree = new HistoryTree<number>();
      for (const [i, ids] of stored.entries()) tree.put(tree.end(ids), i);
      const free: (readonly string[] | undefined)[] = [...stored];
      for (const ids of wanted) {
        const taken = tree.take(tree.end(ids));
        const places = free.flatMap((one, i) => (one ? [i] : []));
        const found = expected(
          places.map((i) => free[i] as readonly string[]),
          ids,
        );
        expect(taken).toBe(found === undefined ? undefined : places[found]);
        if (taken !== undefined) free[taken] = undefined;
      }
    }),
  );
});

it("finds where two histories part", () => {
  fc.assert(
    fc.property(histories, (all) => {
      const tree = new HistoryTree<number>();
      const ends = all.map((ids) => tree.end(ids));
      for (const [i, a] of ends.entries()) {
        for (const [j, b] of ends.entries()) {
          const common = commonLength(all[i] as string[], all[j] as string[]);
          expect(lastCommon(a, b).count).toBe(common);
        }
      }
    }),
  );
});
