import { useEffect, useRef, useState } from "preact/hooks";
import { queryFrom } from "../../state/filter-texts.js";
import { canSearch } from "../../state/message-search.js";
import { linkTo, route } from "../../state/route.js";
import {
  asTree,
  filtered,
  filterSince,
  filterText,
  filterWords,
  mayHoldMore,
  treeRows,
} from "../../state/session-filter.js";
import { listError, listState, readMore, retryList, sessions } from "../../state/session-list.js";
import { MAX_FOUND, type SearchProgress, searchProgress } from "../../state/session-search.js";
import { dayOf, plural } from "../../text/format.js";
import { Said } from "../said.js";
import { SessionItem } from "./session-item.js";

export function SessionList() {
  const list = filtered.value;
  const rows = asTree.value ? treeRows(list) : list.map((session) => ({ session, depth: 0 }));
  const current = route.value.view === "session" ? route.value.sessionId : undefined;
  let day = "";
  return (
    <nav class="session-list" aria-label="Sessions">
      {listError.value !== undefined && <Said what="failed" error={listError.value} onRetry={retryList} />}
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
      {filterWords.value.length > 0 ? <SearchEnd found={rows.length} /> : <ListEnd found={rows.length} />}
    </nav>
  );
}

/** The end of the list, which loads more sessions when it comes into view. */
function ListEnd({ found }: { found: number }) {
  const end = useRef<HTMLDivElement>(null);
  const [isReading, setReading] = useState(false);
  const hasMore = mayHoldMore(filterSince.value);
  const isLoading = listState.value === "loading";
  const isEmpty = sessions.value.length === 0 && filterText.value === "";

  async function read(): Promise<void> {
    setReading(true);
    // The state of the list reports what is wrong with the server.
    await readMore().catch(() => undefined);
    setReading(false);
  }

  useEffect(() => {
    if (!hasMore || isReading || isLoading || end.current === null) return;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && void read(), {
      rootMargin: "400px",
    });
    observer.observe(end.current);
    return () => observer.disconnect();
  });

  return (
    <div class="list-end" ref={end}>
      {((isLoading && listError.value === undefined) || isReading) && <Said what="loading" />}
      {!isLoading && found === 0 && !hasMore && (
        <Said what="empty">{isEmpty ? "No sessions yet." : "No session matches."}</Said>
      )}
    </div>
  );
}

/** Says how far a search for words has come. */
function SearchEnd({ found }: { found: number }) {
  return (
    <p class="list-note" role="status">
      {searchProgress.value === undefined ? "Searching…" : lineOf(searchProgress.value, found)}
      {searchProgress.value?.state === "done" && found === 0 && <SearchedHere />}
    </p>
  );
}

/** What the filter looks at, and where to look for the rest. */
function SearchedHere() {
  return (
    <>
      . Searched are titles, ids, owners, labels and last messages.
      {canSearch && (
        <>
          {" "}
          <a href={linkTo({ view: "search", query: queryFrom({ q: filterText.value }) })}>Search what was said</a>
        </>
      )}
    </>
  );
}

function lineOf({ state, searched, backTo }: SearchProgress, found: number): string {
  const far = `${plural(searched, "session")}${backTo ? `, back to ${dayOf(backTo)}` : ""}`;
  switch (state) {
    case "searching":
      return `Searched ${far}…`;
    case "interrupted":
      return `Searched ${far}. The server does not answer; trying again…`;
    case "full":
      return `The newest ${plural(MAX_FOUND, "match", "matches")}. Type more to find older ones.`;
    case "done":
      return found === 0
        ? `No match in ${plural(searched, "session")}`
        : `All matches in ${plural(searched, "session")}`;
  }
}
