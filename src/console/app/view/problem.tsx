import { KeyRound, SearchX, Unplug } from "lucide";
import { ApiError, apiKey, CODE } from "../api/http.js";
import { dialog } from "../state/ui.js";
import { Icon } from "./icon.js";

interface Shown {
  readonly node: typeof KeyRound;
  readonly title: string;
  readonly text: string;
}

/** Why there is nothing to see, and a way on. */
export function Problem({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  const isKeyProblem = error instanceof ApiError && error.code === CODE.unauthenticated;
  const { node, title, text } = describe(error);
  return (
    <main class="home problem">
      <Icon node={node} size={40} />
      <h1>{title}</h1>
      <p>{text}</p>
      <p class="actions">
        {isKeyProblem ? (
          <button type="button" class="button primary" onClick={() => (dialog.value = { kind: "key" })}>
            Enter a key
          </button>
        ) : (
          <button type="button" class="button primary" onClick={onRetry}>
            Try again
          </button>
        )}
        <a class="button" href="#/">
          All sessions
        </a>
      </p>
    </main>
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
        ? { node: KeyRound, title: "This server wants a key", text: "It stays in this tab and is forgotten with it." }
        : {
            node: KeyRound,
            title: "The key is not accepted",
            text: `${error.message}. It may have expired or been removed.`,
          };
    case CODE.permissionDenied:
      return { node: KeyRound, title: "This key may not see it", text: error.message };
    case CODE.notFound:
      return {
        node: SearchX,
        title: "It is not here",
        text: `${error.message}. It may have been deleted, or belong to another key.`,
      };
    default:
      return { node: Unplug, title: "The server answered with an error", text: error.message };
  }
}
