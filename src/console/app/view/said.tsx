import type { ComponentChildren } from "preact";
import { isForbidden, isGone, reasonOf } from "../state/toasts.js";
import { WayOn } from "./problem.js";

type SaidProps =
  | { readonly what: "loading"; readonly children?: ComponentChildren }
  | { readonly what: "empty"; readonly children: ComponentChildren }
  | { readonly what: "failed"; readonly error: unknown; readonly onRetry: () => void };

/**
 * The one way in which a list, a panel or a table says that it has nothing to show: it is being read, there is nothing,
 * or it could not be read, is forbidden or is gone. `Problem` says so for a whole page.
 */
export function Said(props: SaidProps) {
  if (props.what === "loading") {
    return (
      <p class="panel-note" role="status" aria-busy="true">
        {props.children ?? "Reading…"}
      </p>
    );
  }
  if (props.what === "empty") {
    return (
      <p class="panel-note" role="status">
        {props.children}
      </p>
    );
  }
  const { error, onRetry } = props;
  // Another try leads nowhere when something is forbidden or gone.
  const isFinal = isForbidden(error) || isGone(error);
  return (
    <p class="panel-note bad" role="alert">
      {reasonOf(error)} {!isFinal && <WayOn error={error} class="text-button" onRetry={onRetry} />}
    </p>
  );
}
