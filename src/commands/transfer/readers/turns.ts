import type { TreeNode } from "./branches.js";
import type { ForeignMessage } from "./reader.js";

/** A conversation that is told from its beginning, and of which turns may be taken back. */
export class Turns {
  readonly nodes: TreeNode[] = [];
  /** The newest message that was not taken back; undefined when there is none. */
  last: string | undefined;

  add(message: ForeignMessage): void {
    this.nodes.push({ id: message.id, parent: this.last, message });
    this.last = message.id;
  }

  /** Goes back to before the last messages of the user, as many as `count`. */
  takeBack(count: number, isUsers: (message: ForeignMessage) => boolean): void {
    const byId = new Map(this.nodes.map((node) => [node.id, node]));
    for (let left = count; left > 0 && this.last !== undefined; ) {
      const node = byId.get(this.last);
      if (node?.message && isUsers(node.message)) left -= 1;
      this.last = node?.parent;
    }
  }
}
