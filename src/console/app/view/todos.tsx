import { CircleCheck, CircleDashed, LoaderCircle } from "lucide";
import { useEffect, useState } from "preact/hooks";
import { listTodos } from "../api/calls.js";
import { ApiError, apiKey, CODE, Unreachable } from "../api/http.js";
import type { Todo } from "../api/types.js";
import { plural } from "../text/format.js";
import { Icon } from "./icon.js";
import { PageHead } from "./page-head.js";
import { Problem } from "./problem.js";
import { Said } from "./said.js";

const ICONS = new Map(Object.entries({ completed: CircleCheck, in_progress: LoaderCircle }));

const RETRY_MS = 3000;

/** The one list that all sessions share. */
export function Todos() {
  const [todos, setTodos] = useState<readonly Todo[] | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    if (!(error instanceof Unreachable)) return;
    const timer = setTimeout(() => setAttempt(attempt + 1), RETRY_MS);
    return () => clearTimeout(timer);
  }, [error, attempt]);
  useEffect(() => {
    const left = new AbortController();
    listTodos(left.signal).then(
      (read) => {
        setTodos(read);
        setError(undefined);
      },
      (reason) => {
        if (left.signal.aborted) return;
        // A list that another key has read is not for this one.
        setTodos(undefined);
        setError(reason);
      },
    );
    return () => left.abort();
  }, [attempt, apiKey.value]);
  const isHidden = error instanceof ApiError && error.code === CODE.permissionDenied;
  if (error !== undefined && !isHidden) return <Problem error={error} onRetry={() => setAttempt(attempt + 1)} />;
  return (
    <main class="home">
      <PageHead title="Todos" />
      <p class="muted">
        One list for all sessions. The agent’s backend writes it over gRPC (TodoTrackerService) or with{" "}
        <code>session-pool todo</code>; HTTP only reads, so it cannot be changed here.
      </p>
      {todos === undefined && !isHidden && <Said what="loading" />}
      {isHidden && <Said what="empty">The todo list is hidden for this key.</Said>}
      {todos?.length === 0 && <Said what="empty">No todos.</Said>}
      <ul class="todos" aria-label={plural(todos?.length ?? 0, "todo")}>
        {todos?.map(({ id, content, status, priority }) => (
          <li key={id} class={`todo todo-${status === "completed" ? "done" : "open"}`}>
            <Icon node={ICONS.get(status) ?? CircleDashed} />
            <span class="todo-text" dir="auto">
              {content}
            </span>
            {status && <span class="chip">{status.replaceAll("_", " ")}</span>}
            {priority && <span class="chip">{priority}</span>}
          </li>
        ))}
      </ul>
    </main>
  );
}
