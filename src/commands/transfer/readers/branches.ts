import type { ForeignFork, ForeignMessage } from "./reader.js";

/** A place in a conversation that is a tree. */
export interface TreeNode {
  readonly id: string;
  /** The node before it. One that is not in the tree stands for the root, and so does undefined. */
  readonly parent: string | undefined;
  /** Absent for nodes that only link others. */
  readonly message?: ForeignMessage | undefined;
}

interface Branches {
  readonly messages: readonly ForeignMessage[];
  readonly forks: readonly ForeignFork[];
}

/**
 * The branch that ends at a leaf, and all others as forks. Without a leaf, or with one that is not in the tree, the
 * branch is that of the last node. Every message is in exactly one list: of nodes with the same id the first counts,
 * and a circle is opened where it is entered.
 */
export function branchesOf(nodes: readonly TreeNode[], leaf?: string): Branches {
  const byId = new Map<string, TreeNode>();
  for (const node of nodes) if (!byId.has(node.id)) byId.set(node.id, node);
  const children = childrenOf(byId);
  const last = (leaf === undefined ? undefined : byId.get(leaf)) ?? [...byId.values()].at(-1);
  const isTaken = new Set<TreeNode>();
  const main = pathTo(last, byId);
  const messages = take(main, isTaken);
  const forks: ForeignFork[] = [];
  // Lists whose side ways are still to be followed: a fork may have forks of its own.
  const open: { readonly after: ForeignMessage | null; readonly nodes: readonly TreeNode[] }[] = [];
  const leave = (after: ForeignMessage | null, ways: readonly TreeNode[]) => {
    for (const way of ways) {
      if (isTaken.has(way)) continue;
      const run = runFrom(way, children, isTaken);
      const own = take(run, isTaken);
      if (own.length > 0) forks.push({ after, messages: own });
      open.push({ after, nodes: run });
    }
  };
  open.push({ after: null, nodes: main });
  leave(null, children.get(undefined) ?? []);
  // Nodes that are no root and hang from none hang from a circle.
  for (const start of [undefined, ...byId.values()]) {
    if (start !== undefined) leave(null, [start]);
    for (let list = open.shift(); list; list = open.shift()) {
      let before = list.after;
      for (const node of list.nodes) {
        before = node.message ?? before;
        leave(before, children.get(node) ?? []);
      }
    }
  }
  return { messages, forks };
}

/** The nodes after each node, in their order; those after undefined are the roots. */
function childrenOf(byId: ReadonlyMap<string, TreeNode>): Map<TreeNode | undefined, TreeNode[]> {
  const children = new Map<TreeNode | undefined, TreeNode[]>();
  for (const node of byId.values()) {
    const parent = node.parent === undefined ? undefined : byId.get(node.parent);
    const siblings = children.get(parent);
    if (siblings === undefined) children.set(parent, [node]);
    else siblings.push(node);
  }
  return children;
}

function pathTo(leaf: TreeNode | undefined, byId: ReadonlyMap<string, TreeNode>): TreeNode[] {
  const path = new Set<TreeNode>();
  for (let node = leaf; node !== undefined && !path.has(node); ) {
    path.add(node);
    node = node.parent === undefined ? undefined : byId.get(node.parent);
  }
  return [...path].reverse();
}

/** The way on from a node that was taken last. */
function runFrom(
  start: TreeNode,
  children: ReadonlyMap<TreeNode | undefined, readonly TreeNode[]>,
  isTaken: ReadonlySet<TreeNode>,
): TreeNode[] {
  const run = new Set<TreeNode>();
  for (let node: TreeNode | undefined = start; node !== undefined && !run.has(node); ) {
    run.add(node);
    node = children.get(node)?.findLast((child) => !isTaken.has(child));
  }
  return [...run];
}

function take(nodes: readonly TreeNode[], isTaken: Set<TreeNode>): ForeignMessage[] {
  for (const node of nodes) isTaken.add(node);
  return nodes.flatMap(({ message }) => message ?? []);
}
