import { Download, Tag, ThumbsUp, Trash2 } from "lucide";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Session } from "../../api/types.js";
import { collect, dataSetOf, deleteAll, exportMany, labelAll, MAX_BULK } from "../../state/bulk.js";
import { requestOf, type SessionTable } from "../../state/session-table.js";
import { reasonOf } from "../../state/toasts.js";
import { count, plural } from "../../text/format.js";
import { Icon } from "../icon.js";

/** How many sessions match and are chosen, and what can be done with those. */
export function BulkBar({ table }: { table: SessionTable }) {
  const [counting, setCounting] = useState<number | undefined>(undefined);
  const [problem, setProblem] = useState("");
  const running = useRef(new AbortController());
  useEffect(() => () => running.current.abort(), []);
  const rows = table.rows.value ?? [];
  const chosen = table.chosenCount.value;
  const isAll = table.isAllChosen.value;
  const areAllShown = rows.every(({ sessionId }) => table.chosen.value.has(sessionId));

  /** Counts first: all that match are read before anything is asked. */
  async function act(action: (sessions: readonly Session[]) => void): Promise<void> {
    setProblem("");
    if (!isAll) return action(rows.filter(({ sessionId }) => table.chosen.value.has(sessionId)));
    setCounting(0);
    try {
      action(await collect(requestOf(table.filter.peek()), running.current.signal, setCounting));
    } catch (error) {
      if (!running.current.signal.aborted) setProblem(reasonOf(error));
    }
    setCounting(undefined);
  }
  const onDone = () => {
    table.choose([]);
    void table.read();
  };

  return (
    <div class="bulk-bar">
      <p role="status">
        {counting === undefined ? stateLine(table, chosen, isAll) : `Counting, ${count(counting)} so far…`}
        {problem && <span class="bad"> {problem}</span>}
        {chosen > 0 && !isAll && !areAllShown && (
          <button
            type="button"
            class="text-button"
            onClick={() => table.choose(rows.map(({ sessionId }) => sessionId))}
          >
            Choose all that are shown
          </button>
        )}
        {chosen > 0 && !isAll && areAllShown && table.next.value !== "" && (
          <button type="button" class="text-button" onClick={() => (table.isAllChosen.value = true)}>
            Choose all that match, not only those shown
          </button>
        )}
        {isAll && chosen > MAX_BULK && ` Only the first ${count(MAX_BULK)} are acted on.`}
      </p>
      {chosen > 0 && (
        <p class="bulk-actions">
          <button
            type="button"
            class="button"
            disabled={counting !== undefined}
            onClick={() => void act((all) => labelAll(all, onDone))}
          >
            <Icon node={Tag} /> Label
          </button>
          <button type="button" class="button" disabled={counting !== undefined} onClick={() => void act(exportMany)}>
            <Icon node={Download} /> Export
          </button>
          <button type="button" class="button" disabled={counting !== undefined} onClick={() => void act(dataSetOf)}>
            <Icon node={ThumbsUp} /> Data set
          </button>
          <button
            type="button"
            class="button"
            disabled={counting !== undefined}
            onClick={() => void act((all) => deleteAll(all, onDone))}
          >
            <Icon node={Trash2} /> Delete
          </button>
          <button type="button" class="text-button" onClick={() => table.choose([])}>
            Choose none
          </button>
        </p>
      )}
    </div>
  );
}

function stateLine(table: SessionTable, chosen: number, isAll: boolean): string {
  const { size, isEstimate = false } = table.total.value ?? {};
  if (isAll) return `All ${isEstimate ? "about " : ""}${plural(chosen, "session")} that match are chosen. `;
  if (chosen > 0) return `${plural(chosen, "session")} chosen. `;
  if (size === undefined) return "";
  const shown = table.rows.value?.length ?? 0;
  return `${isEstimate ? "About " : ""}${plural(size, "session")}${shown < size ? `, ${count(shown)} of them shown` : ""}`;
}
