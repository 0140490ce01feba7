import { KeyRound, SearchX, Unplug } from "lucide";
import { ApiError, apiKey, CODE, isKeyProblem } from "../api/http.js";
import { ticketText } from "../api/ticket.js";
import { route } from "../state/route.js";
import { dialog } from "../state/ui.js";
import { Icon } from "./icon.js";

interface Shown {
  readonly node: typeof KeyRound;
  readonly title: string;
  readonly text: string;
}

/** Says why there is nothing to show, and offers a way to continue. */
export function Problem({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  const { node, title, text } = describe(error);
  return (
    <main class="home problem">
      <Icon node={node} size={40} />
      <h1>{title}</h1>
      <p>{text}</p>
      <p class="actions">
        <WayOn error={error} class="button primary" onRetry={onRetry} />
        {ticketText === undefined && route.value.view !== "home" && (
          <a class="button" href="#/">
            All sessions
          </a>
        )}
      </p>
    </main>
  );
}

/** Offers to enter another key if the key is the problem, otherwise to try again. */
export function WayOn(props: { error: unknown; class: string; onRetry: () => void }) {
  const isKey = isKeyProblem(props.error);
  return (
    <button
      type="button"
      class={props.class}
      onClick={() => {
        if (isKey) dialog.value = { kind: "key" };
        else props.onRetry();
      }}
    >
      {isKey ? "Enter a key" : "Try again"}
    </button>
  );
}

function describe(error: unknown): Shown {
  if (!(error instanceof ApiError)) {
    return {
      node: Unplug,
      title: "The server cannot be reached",
      text: "This page tries again by itself every few seconds.",
    };
  }
  switch (error.code) {
    case CODE.unauthenticated:
      return apiKey.value === ""
        ? {
            node: KeyRound,
            title: "This server wants a key",
            text: "It is kept in this tab only, and forgotten when the tab is closed.",
          }
        : {
            node: KeyRound,
            title: "The key is not accepted",
            text: `${error.message}. It may have expired or been removed.`,
          };
    case CODE.permissionDenied:
      return { node: KeyRound, title: "This key gives no access", text: error.message };
    case CODE.notFound:
      return {
        node: SearchX,
        title: "Not found",
        text: `${error.message}. It may have been deleted, or belong to another key.`,
      };
    default:
      return { node: Unplug, title: "The server answered with an error", text: error.message };
  }
}
