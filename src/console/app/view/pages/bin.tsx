import { Undo2 } from "lucide";
import { useEffect, useState } from "preact/hooks";
import { withoutPiles } from "../../../../parts/piles.js";
import { listSessions } from "../../api/calls.js";
import { apiKey } from "../../api/http.js";
import type { Session } from "../../api/types.js";
import { titleOf } from "../../state/actions.js";
import { binDays } from "../../state/bin.js";
import { bringBack } from "../../state/bulk.js";
import { plural, recently, whole } from "../../text/format.js";
import { Icon } from "../icon.js";
import { PageHead } from "../page-head.js";
import { Problem } from "../problem.js";
import { Said } from "../said.js";

interface Read {
  readonly sessions: readonly Session[];
  readonly next: string;
}

/** Deleted sessions that can be brought back. */
export function Bin() {
  const [read, setRead] = useState<Read | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  const [tries, setTries] = useState(0);
  const again = () => setTries((before) => before + 1);
  async function page(pageToken: string, signal?: AbortSignal): Promise<void> {
    try {
      const { sessions, nextPageToken } = await listSessions({ isDeleted: true, pageToken, isFull: true }, signal);
      if (signal?.aborted) return;
      setRead((before) => ({
        sessions: [...(pageToken === "" ? [] : (before?.sessions ?? [])), ...sessions],
        next: nextPageToken,
      }));
      setError(undefined);
    } catch (reason) {
      if (!signal?.aborted) setError(reason);
    }
  }
  useEffect(() => {
    if (binDays === 0) return;
    const left = new AbortController();
    void page("", left.signal);
    return () => left.abort();
  }, [tries, apiKey.value]);
  if (error !== undefined) return <Problem error={error} onRetry={again} />;
  return (
    <main class="home wide-page">
      <PageHead title="Bin" />
      {binDays === 0 ? (
        <Said what="empty">
          This server keeps no deleted sessions. Started with --undelete-days 7, it keeps each for a week.
        </Said>
      ) : (
        <p class="muted">Deleted sessions can be brought back for {plural(binDays, "day")}, as they were.</p>
      )}
      {binDays > 0 && read === undefined && <Said what="loading" />}
      {read?.sessions.length === 0 && <Said what="empty">No deleted session is left.</Said>}
      {read !== undefined && read.sessions.length > 0 && <Rows sessions={read.sessions} onDone={again} />}
      {read !== undefined && read.next !== "" && (
        <button type="button" class="button" onClick={() => void page(read.next)}>
          More sessions
        </button>
      )}
    </main>
  );
}

function Rows({ sessions, onDone }: { sessions: readonly Session[]; onDone: () => void }) {
  return (
    <section class="table-scroll" aria-label="Deleted sessions" tabindex={0}>
      <table class="data sessions">
        <thead>
          <tr>
            <th scope="col">Session</th>
            <th scope="col">Deleted</th>
            <th scope="col">Kept until</th>
            <th scope="col">
              <span class="unseen">Action</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {sessions.map((session) => (
            <tr key={`${session.sessionId} ${session.deleteTime}`}>
              <td class="session-cell" title={session.sessionId}>
                {withoutPiles(titleOf(session))}
                {session.owner && <span class="muted"> {withoutPiles(session.owner)}</span>}
              </td>
              <Time name="Deleted" time={session.deleteTime} />
              <Time name="Kept until" time={session.purgeTime} />
              <td>
                <button
                  type="button"
                  class="button"
                  aria-label={`Bring back ${titleOf(session)}`}
                  onClick={() => void bringBack([session], onDone)}
                >
                  <Icon node={Undo2} /> Bring back
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Time({ name, time }: { name: string; time: string | undefined }) {
  return (
    <td data-name={name}>
      {time && (
        <time dateTime={time} title={whole(time)}>
          {recently(time)}
        </time>
      )}
    </td>
  );
}
