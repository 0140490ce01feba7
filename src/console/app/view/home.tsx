import { MessagesSquare } from "lucide";
import type { VNode } from "preact";
import { baseAddress } from "../api/base.js";
import type { Session } from "../api/types.js";
import { titleOf } from "../state/actions.js";
import { sessionLink } from "../state/route.js";
import { cutoff, filterText } from "../state/session-filter.js";
import { listError, listState, retryList, sessions } from "../state/session-list.js";
import { clock, dayOf, plural } from "../text/format.js";
import { copyText } from "./copy.js";
import { Icon } from "./icon.js";
import { Overview } from "./list/overview.js";
import { LastFailure, LastSaid, Unseen } from "./list/session-marks.js";
import { Problem } from "./problem.js";
import { Said } from "./said.js";

const SHOWN = 30;

/** What has changed since yesterday, by day, or how to begin. */
export function Home() {
  const instead = insteadOfSessions();
  if (instead !== undefined) return instead;
  if (listState.value === "loading") {
    return (
      <main class="home">
        <Said what="loading" />
      </main>
    );
  }
  const from = cutoff("yesterday");
  const changed = sessions.value.filter(({ updateTime }) => Date.parse(updateTime) >= from).slice(0, SHOWN);
  const days = [...new Set(changed.map(({ updateTime }) => dayOf(updateTime)))];
  return (
    <main class="home">
      <h1>Since yesterday</h1>
      <Overview time="yesterday" />
      {days.map((day) => (
        <section key={day} aria-label={day}>
          <h2 class="cards-day">{day}</h2>
          <ul class="cards">
            {changed
              .filter(({ updateTime }) => dayOf(updateTime) === day)
              .map((session) => (
                <li key={session.sessionId}>
                  <Card session={session} isNew={Date.parse(session.createTime) >= from} />
                </li>
              ))}
          </ul>
        </section>
      ))}
    </main>
  );
}

function Card({ session, isNew }: { session: Session; isNew: boolean }) {
  const { sessionId, lastMessage, updateTime, messageCount } = session;
  return (
    <a class="card" href={sessionLink(sessionId)}>
      <span class="item-line">
        <strong class="item-title">{titleOf(session)}</strong>
        {isNew && <span class="chip chip-new">new</span>}
        <Unseen session={session} />
      </span>
      {lastMessage && (
        <span class="card-preview" dir="auto">
          <LastSaid session={session} />
        </span>
      )}
      <LastFailure session={session} />
      <span class="muted">
        {clock(updateTime)}
        {messageCount !== undefined && ` · ${plural(Number(messageCount), "message")}`}
      </span>
    </a>
  );
}

/** What is shown while there are no sessions to show: the reason, and a way to continue. */
export function insteadOfSessions(): VNode | undefined {
  if (listState.value === "loading") {
    return listError.value === undefined ? undefined : <Problem error={listError.value} onRetry={retryList} />;
  }
  return sessions.value.length === 0 && filterText.value === "" ? <Welcome /> : undefined;
}

const EXAMPLE = `curl ${baseAddress()}session --json '{"sessionId": "first", "title": "First questions"}'
curl ${baseAddress()}session/first/message --json \\
  '{"info": {"role": "user"}, "parts": [{"type": "text", "text": "Hello"}]}'`;

function Welcome() {
  return (
    <main class="home welcome">
      <Icon node={MessagesSquare} size={40} />
      <h1>No sessions yet</h1>
      <p>Sessions show up here by themselves as soon as a program makes one. Try it in a terminal:</p>
      <div class="command">
        <button type="button" class="text-button" onClick={() => void copyText(EXAMPLE, "The commands are copied")}>
          Copy
        </button>
        <pre class="code" tabindex={0}>
          {EXAMPLE}
        </pre>
      </div>
      <p>
        The <a href="docs">API reference</a> has all the rest.
      </p>
    </main>
  );
}
