import { Component, type ComponentChildren } from "preact";
import type { Json, Message } from "../../api/types.js";
import { JsonTree } from "./json-tree.js";

interface Props {
  readonly message: Message | undefined;
  /** Absent for a draft. */
  readonly position?: number;
  readonly children: ComponentChildren;
}

/** Keeps an error from hiding other messages. The message that caused it is shown as JSON until it changes. */
export class MessageBoundary extends Component<Props, { failed?: Message | undefined }> {
  override componentDidCatch(error: unknown): void {
    console.warn("A message cannot be shown", error);
    this.setState({ failed: this.props.message });
  }

  override render({ message, position, children }: Props) {
    if (message === undefined || this.state.failed !== message) return children;
    return (
      <article class="message" data-id={message.info.id} data-position={position} tabindex={-1}>
        <div class="message-body">
          <p class="muted">This message cannot be shown. Its raw form is:</p>
          <JsonTree value={message as unknown as Json} open={false} />
        </div>
      </article>
    );
  }
}
