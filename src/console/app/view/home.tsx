import { MessagesSquare } from "lucide";
import type { VNode } from "preact";
import { titleOf } from "../state/actions.js";
import { sessionLink } from "../state/route.js";
import { filterText } from "../state/session-filter.js";
import { listError, listState, retryList, sessions } from "../state/session-list.js";
import { clock, dayOf, plural, startOfDay, withoutMarks } from "../text/format.js";
import { Icon } from "./icon.js";
import { Problem } from "./problem.js";

const SHOWN = 30;

/** What has changed since yesterday, or how to begin. */
export function Home() {
  const from = startOfDay(new Date(), 1).getTime();
  const changed = sessions.value.filter(({ updateTime }) => Date.parse(updateTime) >= from);
  const instead = insteadOfSessions();
  if (instead !== undefined) return instead;
  if (listState.value === "loading") return <main class="home" aria-busy="true" aria-label="Loading" />;
  const made = changed.filter(({ createTime }) => Date.parse(createTime) >= from);
  return (
    <main class="home">
      <h1>Since yesterday</h1>
      <p class="muted">
        {changed.length === 0
          ? "Nothing has changed."
          : `${plural(changed.length, "session")} changed, ${made.length} of them new.`}
      </p>
      <ul class="cards">
        {changed.slice(0, SHOWN).map((session) => (
          <li key={session.sessionId}>
            <a class="card" href={sessionLink(session.sessionId)}>
              <span class="item-line">
                <strong class="item-title">{titleOf(session)}</strong>
                {Date.parse(session.createTime) >= from && <span class="chip chip-new">new</span>}
              </span>
              {session.lastMessage && (
                <span class="card-preview" dir="auto">
                  <span class="muted">{session.lastMessage.role}: </span>
                  {withoutMarks(session.lastMessage.text) || <span class="muted">no text</span>}
                </span>
              )}
              <span class="muted">
                {dayOf(session.updateTime)} {clock(session.updateTime)}
                {session.messageCount !== undefined && ` · ${plural(Number(session.messageCount), "message")}`}
              </span>
            </a>
          </li>
        ))}
      </ul>
    </main>
  );
}

/** What takes the place of the sessions while there are none to show: why, and a way on. */
export function insteadOfSessions(): VNode | undefined {
  if (listState.value === "loading") {
    return listError.value === undefined ? undefined : <Problem error={listError.value} onRetry={retryList} />;
  }
  return sessions.value.length === 0 && filterText.value === "" ? <Welcome /> : undefined;
}

const EXAMPLE = `curl ${location.origin}/session --json '{"sessionId": "first", "title": "First questions"}'
curl ${location.origin}/session/first/message --json \\
  '{"info": {"role": "user"}, "parts": [{"type": "text", "text": "Hello"}]}'`;

function Welcome() {
  return (
    <main class="home welcome">
      <Icon node={MessagesSquare} size={40} />
      <h1>No sessions yet</h1>
      <p>Sessions show up here by themselves as soon as a program makes one. Try it in a terminal:</p>
      <pre class="code" tabindex={0}>
        {EXAMPLE}
      </pre>
      <p>
        The <a href="/docs">API reference</a> has all the rest.
      </p>
    </main>
  );
}
