/** Files in the shape of ChatGPT's `conversations.json`. */

interface Node {
  readonly id: string;
  readonly parent: string | null;
  readonly children: readonly string[];
  readonly message: object | null;
}

/** A message as ChatGPT writes it; `content` may be its text. */
export function said(id: string, role: string, content: unknown, more: object = {}): { readonly id: string } {
  return {
    id,
    author: { role, name: null, metadata: {} },
    create_time: 1_700_000_000.5,
    update_time: null,
    content: typeof content === "string" ? { content_type: "text", parts: [content] } : content,
    status: "finished_successfully",
    end_turn: null,
    weight: 1,
    metadata: {},
    recipient: "all",
    channel: null,
    ...more,
  } as { readonly id: string };
}

/** Nodes as `[id, parent, message]`; the last one is the current one. */
export function tree(
  id: string,
  nodes: readonly (readonly [id: string, parent: string | null, message?: object])[],
  more: object = {},
) {
  const mapping: Record<string, Node> = {};
  for (const [node, parent, message = null] of nodes) {
    const children = nodes.filter(([, other]) => other === node).map(([child]) => child);
    mapping[node] = { id: node, parent, children, message };
  }
  return {
    title: `Title of ${id}`,
    create_time: 1_700_000_000,
    update_time: 1_700_000_100,
    mapping,
    moderation_results: [],
    current_node: nodes.at(-1)?.[0],
    plugin_ids: null,
    conversation_id: id,
    id,
    ...more,
  };
}

/** A conversation without branches. */
export function line(id: string, messages: readonly { readonly id: string }[], more: object = {}) {
  const nodes = messages.map((message, i) => [message.id, messages[i - 1]?.id ?? "root", message] as const);
  return tree(id, [["root", null], ...nodes], more);
}
