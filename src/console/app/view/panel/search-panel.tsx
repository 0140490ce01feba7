import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Conversation } from "../../state/conversation.js";
import { Find, type Hit } from "../../state/find.js";
import { jump, leavePanel } from "../../state/ui.js";
import { clock, count, dayOf, plural } from "../../text/format.js";
import { FeedbackList } from "./feedback-list.js";

const TYPING_MS = 250;
/** What this search looks at. */
const SEARCHED =
  "Searched are texts, reasoning, names of tools, arguments, outputs and metadata, for exactly what is typed; case does not matter.";

/** Searches the open session from the newest message back to the first. */
export function SearchPanel({ conversation }: { conversation: Conversation }) {
  const find = useMemo(() => new Find(), [conversation]);
  const [text, setText] = useState("");
  const input = useRef<HTMLInputElement>(null);
  // The field has the focus before the next key is pressed, so that the key is typed into it.
  useLayoutEffect(() => input.current?.focus(), []);
  useEffect(() => {
    const timer = setTimeout(() => find.start(conversation.sessionId, text.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [find, conversation, text]);
  useEffect(() => () => find.stop(), [find]);
  const hits = find.hits.value;
  return (
    <>
      <input
        ref={input}
        type="search"
        class="field"
        placeholder="Text of messages, arguments, outputs"
        aria-label="Search in this session"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <p class="panel-note" role="status">
        {stateLine(find, hits.length)}
      </p>
      {text.trim() !== "" && <FeedbackList conversation={conversation} words={text.trim()} />}
      <ol class="entries">
        {hits.map((hit) => (
          <li key={hit.position} class="entry">
            <button
              type="button"
              onClick={() => {
                jump.value = { to: hit.position };
                leavePanel();
              }}
            >
              <HitText hit={hit} length={text.trim().length} />
            </button>
          </li>
        ))}
      </ol>
    </>
  );
}

function HitText({ hit, length }: { hit: Hit; length: number }) {
  const { snippet, at } = hit;
  return (
    <span class="entry-text" dir="auto">
      {snippet.slice(0, at)}
      <mark>{snippet.slice(at, at + length)}</mark>
      {snippet.slice(at + length)}
      <span class="muted entry-place">
        <bdi dir="ltr">
          {hit.role} · #{hit.position} · {dayOf(hit.timestamp)} {clock(hit.timestamp)}
        </bdi>
      </span>
    </span>
  );
}

function stateLine({ state, walk }: Find, hits: number): string {
  switch (state.value) {
    case "idle":
      return `From the newest message to the first. ${SEARCHED}`;
    case "reading":
      return `${plural(hits, "hit")} so far, read back to #${count(walk.readTo.value ?? 0)}`;
    case "full":
      return `The newest ${plural(hits, "hit")}; older ones need a longer text. ${SEARCHED}`;
    case "done":
      return hits === 0
        ? `Nothing found in the whole session. ${SEARCHED}`
        : `${plural(hits, "hit")} in the whole session. ${SEARCHED}`;
    case "failed":
      return "The search was interrupted: the server could not be reached";
  }
}
