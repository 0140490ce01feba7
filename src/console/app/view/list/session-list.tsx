import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../../api/http.js";
import { route } from "../../state/route.js";
import { asTree, filtered, filterSince, filterText, mayHoldMore, treeRows } from "../../state/session-filter.js";
import { listError, listState, nextPageToken, readMore, sessions } from "../../state/session-list.js";
import { reasonOf } from "../../state/toasts.js";
import { dayOf, plural } from "../../text/format.js";
import { SessionItem } from "./session-item.js";

/** Pages that a filter reads by itself before it asks. */
const PAGES_UNASKED = 10;

export function SessionList() {
  const list = filtered.value;
  const rows = asTree.value ? treeRows(list) : list.map((session) => ({ session, depth: 0 }));
  const current = route.value.view === "session" ? route.value.sessionId : undefined;
  let day = "";
  return (
    <nav class="session-list" aria-label="Sessions">
      {listError.value !== undefined && (
        <p class="list-note bad" role="status">
          {listError.value instanceof ApiError ? listError.value.message : reasonOf(listError.value)} Trying again…
        </p>
      )}
      <ul>
        {rows.map(({ session, depth }) => {
          const ownDay = depth === 0 ? dayOf(session.updateTime) : day;
          const heading = ownDay !== day && !asTree.value ? ownDay : undefined;
          day = ownDay;
          return (
            <SessionItem
              key={session.sessionId}
              session={session}
              depth={depth}
              heading={heading}
              isCurrent={session.sessionId === current}
            />
          );
        })}
      </ul>
      <ListEnd found={rows.length} />
    </nav>
  );
}

/** Reads on when its end comes into view. */
function ListEnd({ found }: { found: number }) {
  const end = useRef<HTMLDivElement>(null);
  const [pages, setPages] = useState(0);
  const [isReading, setReading] = useState(false);
  const hasMore = nextPageToken.value !== "" && mayHoldMore.value;
  const isFiltering = filterText.value !== "";
  const mayRead = hasMore && !isReading && (!isFiltering || pages < PAGES_UNASKED);

  async function read(): Promise<void> {
    setReading(true);
    // The list's own state tells what is wrong with the server.
    await readMore().catch(() => undefined);
    setPages(pages + 1);
    setReading(false);
  }

  useEffect(() => setPages(0), [filterText.value, filterSince.value]);
  useEffect(() => {
    if (!mayRead || listState.value === "loading" || end.current === null) return;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && void read(), {
      rootMargin: "400px",
    });
    observer.observe(end.current);
    return () => observer.disconnect();
  });

  return (
    <div class="list-end" ref={end}>
      {listState.value === "loading" && listError.value === undefined && <p class="list-note">Loading…</p>}
      {listState.value === "ready" && found === 0 && !hasMore && (
        <p class="list-note">{sessions.value.length === 0 ? "No sessions yet" : "No session matches"}</p>
      )}
      {isReading && <p class="list-note">Loading more…</p>}
      {hasMore && !isReading && isFiltering && pages >= PAGES_UNASKED && (
        <button type="button" class="fold" onClick={() => setPages(0)}>
          {`${plural(sessions.value.length, "session")} looked at. Look further`}
        </button>
      )}
    </div>
  );
}
