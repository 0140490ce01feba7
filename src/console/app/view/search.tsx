import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { SearchHit } from "../api/calls.js";
import { ApiError, apiKey, CODE } from "../api/http.js";
import { MessageSearch, piecesOf, type SearchFilter, searchesAll, searchFilterOf } from "../state/message-search.js";
import { linkTo, sessionLink } from "../state/route.js";
import { ALL, queryOf } from "../state/session-table.js";
import { clock, dayOf, plural, whole } from "../text/format.js";
import { fieldOf, Ranges } from "./filter-fields.js";
import { PageHead } from "./page-head.js";
import { Problem } from "./problem.js";
import { Said } from "./said.js";

const TYPING_MS = 300;
const TEXT_SEARCHED = "Only what was said is searched: no tool calls, their output, reasoning or titles.";
const ALL_SEARCHED = "Searched are texts, reasoning, names of tools, arguments, outputs and titles.";
const SEARCHED = searchesAll ? ALL_SEARCHED : TEXT_SEARCHED;
const ROLES = ["user", "assistant", "tool", "system"];

/** Messages of all sessions by their words, the newest first. Begins with the query of the address. */
export function Search({ query }: { query: string }) {
  const search = useMemo(() => new MessageSearch(), []);
  const [filter, setFilter] = useState(() => searchFilterOf(query));
  const input = useRef<HTMLInputElement>(null);
  // The field has the focus before the next key is pressed, so that the key is typed into it.
  useLayoutEffect(() => input.current?.focus(), []);
  useEffect(() => {
    const timer = setTimeout(() => search.start(filter), TYPING_MS);
    return () => clearTimeout(timer);
  }, [search, filter, apiKey.value]);
  useEffect(() => () => search.stop(), [search]);
  const state = search.state.value;
  const hits = search.hits.value;
  const again = () => search.start(filter);
  if (state.kind === "failed" && !isRefusal(state.error)) return <Problem error={state.error} onRetry={again} />;
  return (
    <main class="home message-search">
      <PageHead title="Search all sessions" />
      <search>
        <input
          ref={input}
          id="message-search"
          type="search"
          class="field"
          placeholder={'Words, "a phrase" or begin*'}
          aria-label="Search the messages of all sessions"
          value={filter.q}
          onInput={({ currentTarget }) => setFilter({ ...filter, q: currentTarget.value })}
        />
        <SearchFilters filter={filter} onChange={setFilter} />
      </search>
      {state.kind === "idle" && (
        <Said what="empty">{hasConditions(filter) ? <NoWords filter={filter} /> : SEARCHED}</Said>
      )}
      {state.kind === "reading" && <Said what="loading">Searching…</Said>}
      {state.kind === "failed" && <Said what="failed" error={state.error} onRetry={again} />}
      {state.kind === "done" && hits.length > 0 && (
        <p class="muted" role="status">
          {plural(hits.length, "message")}, the newest first{state.next !== "" && "; there may be more"}
        </p>
      )}
      {state.kind === "done" && hits.length === 0 && <Said what="empty">{nothingLine(state.next)}</Said>}
      <ol class="hits">
        {hits.map((hit) => (
          <li key={`${hit.sessionId} ${hit.messageId}`}>
            <Hit hit={hit} />
          </li>
        ))}
      </ol>
      {state.kind === "done" && state.next !== "" && (
        <button type="button" class="button" onClick={() => void search.more(state.next)}>
          Look further
        </button>
      )}
    </main>
  );
}

function hasConditions({ role, owner, since, until }: SearchFilter): boolean {
  return [role, owner, since, until].some((text) => text !== "");
}

/** Says what is missing, and where the sessions are that the filter names. */
function NoWords({ filter: { owner, since, until } }: { filter: SearchFilter }) {
  const query = queryOf({ ...ALL, owner, since, until });
  return (
    <>
      Type a word that the messages hold. The table has{" "}
      <a href={linkTo({ view: "sessions", query })}>all sessions of this owner and time</a>, with what was asked last.
    </>
  );
}

/** Who said it, whose session it is, and when. */
function SearchFilters({ filter, onChange }: { filter: SearchFilter; onChange: (filter: SearchFilter) => void }) {
  const field = fieldOf(filter, onChange);
  return (
    <div class="page-filters">
      <label class="filter">
        Said by
        <select
          class="field"
          value={filter.role}
          onChange={({ currentTarget }) => onChange({ ...filter, role: currentTarget.value })}
        >
          <option value="">anybody</option>
          {ROLES.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
      {field("owner", "Owner of the session", { title: 'Write "" for sessions without an owner' })}
      {field("since", "Since", { type: "datetime-local" })}
      {field("until", "Before", { type: "datetime-local" })}
      <Ranges label="Time" filter={filter} onChoose={(range) => onChange({ ...filter, ...range })} />
    </div>
  );
}

function Hit({ hit }: { hit: SearchHit }) {
  const { sessionId, sessionTitle, messageId, role, timestamp, position = "0" } = hit;
  return (
    <a class="hit" href={messageId ? linkTo({ view: "session", sessionId, messageId }) : sessionLink(sessionId)}>
      <span class="item-line">
        <strong class="item-title">{sessionTitle || sessionId}</strong>
        <time class="muted" dateTime={timestamp} title={whole(timestamp)}>
          {dayOf(timestamp)} {clock(timestamp)}
        </time>
      </span>
      <span class="hit-text" dir="auto">
        {piecesOf(hit).map(({ text, isMarked }, i) => (isMarked ? <mark key={i}>{text}</mark> : text))}
      </span>
      <span class="muted">
        {messageId ? [role, `#${position}`, fieldName(hit)].filter(Boolean).join(" · ") : "title"}
      </span>
    </a>
  );
}

/** What the words were found in, unless that is a text. */
function fieldName({ field = "" }: SearchHit): string {
  const name = field.replace(/^SEARCHED_FIELD_/, "").toLowerCase();
  return name === "unspecified" || name === "text" ? "" : name.replaceAll("_", " ");
}

/** Whether the service refused the query as invalid. */
function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && error.code === CODE.invalidArgument;
}

/** Says that nothing was found, so far or at all. */
function nothingLine(next: string) {
  if (next !== "") return "Nothing found so far.";
  return (
    <>
      No message has all of these words. {SEARCHED} <code>begin*</code> also finds words that begin so.
    </>
  );
}
