import { ArrowLeft } from "lucide";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { SearchHit } from "../api/calls.js";
import { ApiError, apiKey, CODE } from "../api/http.js";
import { MessageSearch, piecesOf, type SearchState, searchesAll } from "../state/message-search.js";
import { linkTo, sessionLink } from "../state/route.js";
import { clock, dayOf, plural, whole } from "../text/format.js";
import { Icon } from "./icon.js";
import { Problem } from "./problem.js";

const TYPING_MS = 300;
const TEXT_SEARCHED = "Only what was said is searched: no tool calls, their output, reasoning or titles.";
const ALL_SEARCHED = "Searched are texts, reasoning, names of tools, arguments, outputs and titles.";
const ROLES = ["user", "assistant", "tool", "system"];

/** Messages of all sessions by their words, the newest first. Begins with the query `q`, and ignores its changes. */
export function Search({ q }: { q: string }) {
  const search = useMemo(() => new MessageSearch(), []);
  const [text, setText] = useState(q);
  const [role, setRole] = useState("");
  const input = useRef<HTMLInputElement>(null);
  // The field has the focus before the next key is pressed, so that the key is typed into it.
  useLayoutEffect(() => input.current?.focus(), []);
  useEffect(() => {
    const timer = setTimeout(() => search.start(text, role), TYPING_MS);
    return () => clearTimeout(timer);
  }, [search, text, role, apiKey.value]);
  useEffect(() => () => search.stop(), [search]);
  const state = search.state.value;
  const hits = search.hits.value;
  const isNothing = state.kind === "done" && state.next === "" && hits.length === 0;
  if (state.kind === "failed" && !isRefusal(state.error)) {
    return <Problem error={state.error} onRetry={() => search.start(text, role)} />;
  }
  return (
    <main class="home message-search">
      <div class="home-head">
        <a class="icon-button back" href="#/" aria-label="All sessions">
          <Icon node={ArrowLeft} size={18} />
        </a>
        <h1>Search all sessions</h1>
      </div>
      <search>
        <input
          ref={input}
          id="message-search"
          type="search"
          class="field"
          placeholder={'Words, "a phrase" or begin*'}
          aria-label="Search the messages of all sessions"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <label class="search-role">
          Said by{" "}
          <select class="field" value={role} onChange={({ currentTarget }) => setRole(currentTarget.value)}>
            <option value="">anybody</option>
            {ROLES.map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
      </search>
      <p class="muted" role="status">
        {stateLine(state, hits.length)}
        {isNothing && (
          <>
            . {searchesAll ? ALL_SEARCHED : TEXT_SEARCHED} <code>begin*</code> also finds words that begin so.
          </>
        )}
      </p>
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
function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && error.code === CODE.invalidArgument;
}

function stateLine(state: SearchState, hits: number): string {
  switch (state.kind) {
    case "idle":
      return searchesAll ? ALL_SEARCHED : TEXT_SEARCHED;
    case "reading":
      return "Searching…";
    case "failed":
      return isRefusal(state.error) ? state.error.message : "";
    case "done":
      if (hits === 0) return state.next === "" ? "No message has all of these words" : "Nothing found so far";
      return `${plural(hits, "message")}, the newest first${state.next === "" ? "" : "; there may be more"}`;
  }
}
