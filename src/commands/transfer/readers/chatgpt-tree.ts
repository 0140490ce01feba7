import { fieldAt, listAt, microsOf, textAt } from "./fields.js";

/** A node of a conversation's tree. */
export interface TreeNode {
  readonly id: string;
  readonly message: unknown;
  readonly timeMicros: number;
  parent: TreeNode | undefined;
  readonly children: TreeNode[];
}

/** Nodes that follow each other. The first one's parent is in an earlier branch. */
export interface Branch {
  readonly nodes: readonly TreeNode[];
}

interface Tree {
  /** The branch that was last shown. */
  readonly main: Branch;
  /** All others, each after the branch that it leaves. */
  readonly others: readonly Branch[];
  /** How many links led nowhere or in a circle. */
  readonly broken: number;
}

/**
 * Reads the nodes of a mapping, whatever their links are: each is in exactly one branch. A piece whose parent is
 * missing follows the node that was written before it.
 */
export function readTree(mapping: object, currentId: string): Tree {
  const nodes = nodesOf(mapping);
  const roots = link(nodes, mapping);
  const circles = openCircles(nodes.values());
  const all = [...nodes.values()].sort((a, b) => a.timeMicros - b.timeMicros);
  const places = new Map(all.map((node, i) => [node, i]));
  // The true root names no parent; without one, the piece that was written first stands in for it.
  const loose = [...roots, ...circles];
  const root = roots.find(({ id }) => textAt(fieldAt(mapping, id), "parent") === "") ?? loose[0];
  const dangling = loose.filter((node) => node !== root);
  for (const node of dangling) attach(node, root, all, places.get(node) ?? 0);
  for (const node of nodes.values()) node.parent?.children.push(node);
  inOrder(nodes, mapping);
  const current = nodes.get(currentId);
  const end = lastLeaf(current ?? newest(all));
  const isLost = current === undefined && nodes.size > 0 && currentId !== "";
  const isRootLost = root !== undefined && textAt(fieldAt(mapping, root.id), "parent") !== "";
  return { ...branchesOf(end), broken: dangling.length + Number(isLost) + Number(isRootLost) };
}

function nodesOf(mapping: object): Map<string, TreeNode> {
  let latest = 0;
  return new Map(
    Object.entries(mapping).map(([id, node]) => {
      const message = fieldAt(node, "message");
      latest = microsOf(fieldAt(message, "create_time")) ?? latest;
      return [id, { id, message, timeMicros: latest, parent: undefined, children: [] }];
    }),
  );
}

/** Links nodes to their parents. Returns those that have none. */
function link(nodes: ReadonlyMap<string, TreeNode>, mapping: object): TreeNode[] {
  const claims = new Map<string, TreeNode>();
  for (const [id, node] of Object.entries(mapping)) {
    for (const child of listAt(node, "children")) {
      if (typeof child === "string" && !claims.has(child)) claims.set(child, nodes.get(id) as TreeNode);
    }
  }
  const roots: TreeNode[] = [];
  for (const [id, node] of Object.entries(mapping)) {
    const own = nodes.get(id) as TreeNode;
    own.parent = nodes.get(textAt(node, "parent")) ?? claims.get(id);
    if (own.parent === undefined) roots.push(own);
  }
  return roots;
}

/** Unlinks one node of each circle: the earliest. Returns these nodes. */
function openCircles(nodes: Iterable<TreeNode>): TreeNode[] {
  const done = new Set<TreeNode>();
  const opened: TreeNode[] = [];
  for (const start of nodes) {
    const chain = new Set<TreeNode>();
    let next: TreeNode | undefined = start;
    for (; next && !done.has(next) && !chain.has(next); next = next.parent) chain.add(next);
    if (next && chain.has(next)) {
      let earliest = next;
      for (let node = next.parent; node && node !== next; node = node.parent) {
        if (node.timeMicros < earliest.timeMicros) earliest = node;
      }
      earliest.parent = undefined;
      opened.push(earliest);
    }
    for (const node of chain) done.add(node);
  }
  return opened;
}

/** Gives a piece that hangs nowhere the parent that was written before it. */
function attach(node: TreeNode, root: TreeNode | undefined, all: readonly TreeNode[], place: number): void {
  for (let i = place - 1; i >= 0; i--) {
    const before = all[i] as TreeNode;
    if (isBelow(before, node)) continue;
    node.parent = before;
    return;
  }
  node.parent = root;
}

function isBelow(node: TreeNode, top: TreeNode): boolean {
  for (let next: TreeNode | undefined = node; next; next = next.parent) if (next === top) return true;
  return false;
}

/** Sorts children as their parents list them. */
function inOrder(nodes: ReadonlyMap<string, TreeNode>, mapping: object): void {
  for (const [id, node] of Object.entries(mapping)) {
    const { children } = nodes.get(id) as TreeNode;
    if (children.length < 2) continue;
    const places = new Map(listAt(node, "children").map((child, i) => [child, i]));
    children.sort((a, b) => (places.get(a.id) ?? places.size) - (places.get(b.id) ?? places.size));
  }
}

function newest(all: readonly TreeNode[]): TreeNode | undefined {
  return all.findLast(({ children, message }) => children.length === 0 && message) ?? all.at(-1);
}

function lastLeaf(node: TreeNode | undefined): TreeNode | undefined {
  let leaf = node;
  for (let child = leaf?.children.at(-1); child; child = leaf?.children.at(-1)) leaf = child;
  return leaf;
}

function branchesOf(end: TreeNode | undefined): { readonly main: Branch; readonly others: readonly Branch[] } {
  const path: TreeNode[] = [];
  for (let node = end; node; node = node.parent) path.push(node);
  const main = { nodes: path.reverse() };
  const taken = new Set(path);
  const others: Branch[] = [];
  const starts = path.flatMap(({ children }) => children).filter((node) => !taken.has(node));
  for (const start of starts) {
    const own: TreeNode[] = [];
    for (let node: TreeNode | undefined = start; node; node = node.children.at(-1)) own.push(node);
    others.push({ nodes: own });
    // The list grows while it is walked, so that every branch comes after the one that it leaves.
    starts.push(...own.flatMap(({ children }) => children.slice(0, -1)));
  }
  return { main, others };
}
