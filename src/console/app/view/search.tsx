import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { SearchHit } from "../api/calls.js";
import { ApiError, apiKey, CODE } from "../api/http.js";
import {
  canSearch,
  MessageSearch,
  piecesOf,
  type SearchFilter,
  searchesAll,
  searchFilterOf,
} from "../state/message-search.js";
import { linkTo, sessionLink } from "../state/route.js";
import { clock, dayOf, plural, whole } from "../text/format.js";
import { fieldOf, OWNER, Ranges } from "./filter-fields.js";
import { PageHead } from "./page-head.js";
import { Problem } from "./problem.js";
import { Said } from "./said.js";

const TYPING_MS = 300;
const TEXT_SEARCHED = "Only what was said is searched: no tool calls, their output, reasoning or titles.";
const ALL_SEARCHED = "Searched are texts, reasoning, names of tools, arguments, outputs and titles.";
const SEARCHED = searchesAll ? ALL_SEARCHED : TEXT_SEARCHED;
const WITHOUT_WORDS = "Choose whose sessions, which messages or a time to list what was said.";

/** The kinds of messages by their roles, so that nobody takes a role for the owner of a session. */
const KINDS = [
  ["", "all"],
  ["user", "questions (user)"],
  ["assistant", "answers (assistant)"],
  ["tool", "results of tools (tool)"],
  ["system", "instructions (system)"],
] as const;

/** Messages of all sessions by their words or by conditions. Begins with the query of the address. */
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
      <PageHead title={canSearch ? "Search all sessions" : "Messages of all sessions"} />
      <search>
        {canSearch && (
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
        )}
        <SearchFilters filter={filter} onChange={setFilter} />
      </search>
      {state.kind === "idle" && <Said what="empty">{canSearch ? `${SEARCHED} ${WITHOUT_WORDS}` : WITHOUT_WORDS}</Said>}
      {state.kind === "reading" && <Said what="loading">{search.isList.value ? "Reading…" : "Searching…"}</Said>}
      {state.kind === "failed" && <Said what="failed" error={state.error} onRetry={again} />}
      {state.kind === "done" && hits.length > 0 && (
        <p class="muted" role="status">
          {search.isList.value ? listLine(hits) : `${plural(hits.length, "message")}, the newest first`}
          {state.next !== "" && "; there may be more"}
          {!search.isList.value && `. ${SEARCHED}`}
        </p>
      )}
      {state.kind === "done" && hits.length === 0 && (
        <Said what="empty">{nothingLine(state.next, search.isList.value)}</Said>
      )}
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

/** How much a list has, and in which order. */
function listLine(hits: readonly SearchHit[]): string {
  const sessions = new Set(hits.map(({ sessionId }) => sessionId)).size;
  const found = plural(hits.length, "message");
  return sessions === 1
    ? `${found} in one session, the newest first`
    : `${found} in ${plural(sessions, "session")}, those that changed last first`;
}

/** Whose session it is, which messages, and when. */
function SearchFilters({ filter, onChange }: { filter: SearchFilter; onChange: (filter: SearchFilter) => void }) {
  const field = fieldOf(filter, onChange);
  return (
    <div class="page-filters">
      {field("owner", OWNER, { title: 'Write "" for sessions without an owner' })}
      <label class="filter">
        Which messages
        <select
          class="field"
          value={filter.role}
          onChange={({ currentTarget }) => onChange({ ...filter, role: currentTarget.value })}
        >
          {KINDS.map(([role, label]) => (
            <option key={role} value={role}>
              {label}
            </option>
          ))}
        </select>
      </label>
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
function nothingLine(next: string, isList: boolean) {
  if (next !== "") return "Nothing found so far.";
  if (isList) return "No message matches.";
  return (
    <>
      No message has all of these words. {SEARCHED} <code>begin*</code> also finds words that begin so.
    </>
  );
}
