import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { branchesOf, type TreeNode } from "../../../../../src/commands/transfer/readers/branches.js";
import type { ForeignMessage } from "../../../../../src/commands/transfer/readers/reader.js";

const message = (id: string): ForeignMessage => ({ id, role: "user", parts: [] });
const node = (id: string, parent?: string, hasMessage = true): TreeNode => ({
  id,
  parent,
  message: hasMessage ? message(id) : undefined,
});
const idsOf = (messages: readonly ForeignMessage[]) => messages.map(({ id }) => id).join("");

function outline(nodes: readonly TreeNode[], leaf?: string) {
  const { messages, forks } = branchesOf(nodes, leaf);
  return [idsOf(messages), ...forks.map(({ after, messages }) => `${after?.id ?? ""}>${idsOf(messages)}`)];
}

/** Trees with roots, missing parents, circles, doubled ids, and nodes without messages. */
const trees = fc.array(
  fc.record({ id: fc.nat(12), parent: fc.option(fc.nat(14), { nil: undefined }), hasMessage: fc.boolean() }),
  { maxLength: 20 },
);

describe("the branches of a tree", () => {
  it("are the one that ends at the leaf, and forks after the messages that they share", () => {
    const nodes = [
      node("a"),
      node("b", "a"),
      node("c", "b"),
      node("x", "a"),
      node("y", "x"),
      node("z", "x"),
      node("r"),
    ];
    expect(outline(nodes, "c")).toEqual(["abc", ">r", "a>xz", "x>y"]);
    expect(outline(nodes, "x")).toEqual(["ax", ">r", "a>bc", "x>y", "x>z"]);
  });

  it("end at the last node without a known leaf, and pass over nodes without messages", () => {
    expect(outline([node("a"), node("b", "a", false), node("c", "b"), node("d", "b")], "?")).toEqual(["ad", "a>c"]);
    expect(outline([])).toEqual([""]);
  });

  it("hold each message once, and every fork comes after the branch that it leaves, whatever the links are", () => {
    fc.assert(
      fc.property(trees, fc.option(fc.nat(14), { nil: undefined }), (items, leaf) => {
        const nodes = items.map(({ id, parent, hasMessage }) =>
          node(`${id}`, parent === undefined ? undefined : `${parent}`, hasMessage),
        );
        const { messages, forks } = branchesOf(nodes, leaf === undefined ? undefined : `${leaf}`);
        const first = new Map([...nodes].reverse().map((one) => [one.id, one.message]));
        const all = [messages, ...forks.map((fork) => fork.messages)].flat();
        expect(new Set(all)).toEqual(new Set([...first.values()].filter(Boolean)));
        expect(all).toHaveLength(new Set(all).size);
        const seen = new Set(messages);
        for (const fork of forks) {
          expect(fork.messages.length).toBeGreaterThan(0);
          if (fork.after) expect(seen).toContain(fork.after);
          for (const one of fork.messages) seen.add(one);
        }
      }),
      { numRuns: 1000 },
    );
  });
});
