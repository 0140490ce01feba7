/** A message after those before it, or the beginning of all histories. */
export interface HistoryNode<T> {
  readonly id: string;
  /** How many messages the history has that ends here. */
  readonly count: number;
  readonly before: HistoryNode<T> | undefined;
  readonly next: Map<string, HistoryNode<T>>;
}

interface Node<T> extends HistoryNode<T> {
  readonly before: Node<T> | undefined;
  readonly next: Map<string, Node<T>>;
  /** What was put at this place, in that order. */
  readonly here: Entry<T>[];
  /** The first of all that was put here or after this place. */
  first: Entry<T> | undefined;
}

interface Entry<T> {
  readonly order: number;
  readonly value: T;
}

/**
 * Histories by the ids of their messages. Those that begin alike share their beginning, so that comparing one of them
 * with all others takes no longer than reading it.
 */
export class HistoryTree<T> {
  readonly #root: Node<T> = { id: "", count: 0, before: undefined, next: new Map(), here: [], first: undefined };
  #count = 0;

  get root(): HistoryNode<T> {
    return this.#root;
  }

  /** The end of a history, which is added if it is new. */
  end(ids: Iterable<string>): HistoryNode<T> {
    let node = this.#root;
    for (const id of ids) {
      let next = node.next.get(id);
      if (next === undefined) {
        next = { id, count: node.count + 1, before: node, next: new Map(), here: [], first: undefined };
        node.next.set(id, next);
      }
      node = next;
    }
    return node;
  }

  /** Puts a value at the end of a history. */
  put(end: HistoryNode<T>, value: T): void {
    const entry = { order: this.#count, value };
    this.#count += 1;
    (end as Node<T>).here.push(entry);
    for (let node = end as Node<T> | undefined; node && node.first === undefined; node = node.before)
      node.first = entry;
  }

  /**
   * Takes out the value whose history has most in common with this one, if either begins with the other: the same
   * history, a longer one, or the longest of the shorter ones.
   */
  take(end: HistoryNode<T>): T | undefined {
    let node: Node<T> | undefined = end as Node<T>;
    let found = node.here[0] ?? node.first;
    while (found === undefined && node.before !== undefined) {
      node = node.before;
      found = node.here[0];
    }
    if (found !== undefined) this.#remove(node, found);
    return found?.value;
  }

  #remove(above: Node<T>, entry: Entry<T>): void {
    let node: Node<T> | undefined = above;
    while (!node.here.includes(entry)) node = [...node.next.values()].find(({ first }) => first === entry) as Node<T>;
    node.here.splice(node.here.indexOf(entry), 1);
    for (; node && node.first === entry; node = node.before) {
      node.first = node.here[0];
      for (const { first } of node.next.values()) {
        if (first && (node.first === undefined || first.order < node.first.order)) node.first = first;
      }
    }
  }
}

/** The last message that both histories have before their ways part. */
export function lastCommon<T>(a: HistoryNode<T>, b: HistoryNode<T>): HistoryNode<T> {
  let [one, other] = [a, b];
  while (one !== other) {
    if (one.count >= other.count) one = one.before as HistoryNode<T>;
    else other = other.before as HistoryNode<T>;
  }
  return one;
}
