import { TriangleAlert } from "lucide";
import { useEffect, useRef } from "preact/hooks";
import { withoutMarks } from "../../../../parts/lines.js";
import { withoutPiles } from "../../../../parts/piles.js";
import type { Session } from "../../api/types.js";
import { lookAtRecent, recentOf } from "../../state/recent-messages.js";
import { unseenOf } from "../../state/seen.js";
import { count, plural } from "../../text/format.js";
import { Icon } from "../icon.js";
import { NoText } from "../no-text.js";

/** How many messages came since this browser last showed the session. */
export function Unseen({ session }: { session: Session }) {
  const unseen = unseenOf(session);
  if (unseen === 0) return null;
  return (
    <span class="chip chip-new item-new" title={`${plural(unseen, "message")} since you last opened it`}>
      +{count(unseen)}
    </span>
  );
}

/** What failed last, looked up once this comes into view. */
export function LastFailure({ session }: { session: Session }) {
  const place = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (place.current === null) return;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && lookAtRecent(session));
    observer.observe(place.current);
    return () => observer.disconnect();
  }, [session]);
  const { failure } = recentOf(session);
  const text = failure && [failure.name === "tool" ? "" : failure.name, failure.reason].filter(Boolean).join(": ");
  return (
    <span class="item-failure" ref={place} title={text && `Failed in the last messages: ${text}`}>
      {text && (
        <>
          <Icon node={TriangleAlert} size={13} /> <span class="unseen">Failed: </span>
          <span class="cut">{text}</span>
        </>
      )}
    </span>
  );
}

/** What the user asked last, or the last message until that is known. */
export function LastAsked({ session }: { session: Session }) {
  const { asked } = recentOf(session);
  if (session.lastMessage === undefined) return null;
  return (
    <span class="last-said muted" dir="auto">
      {asked ? `user: ${asked}` : <LastSaid session={session} />}
    </span>
  );
}

/** What the last message says, or what it holds, which is known once the messages have been looked at. */
export function LastSaid({ session }: { session: Session }) {
  const { lastMessage } = session;
  if (lastMessage === undefined) return null;
  const { last } = recentOf(session);
  const said = withoutMarks(lastMessage.text);
  return (
    <>
      <span class="muted">{said ? lastMessage.role : (last?.speaker ?? lastMessage.role)}: </span>
      {said || last?.text || (last === undefined ? "…" : <NoText />)}
    </>
  );
}

/** The model that was called last, as far as the last messages say it. */
export function LastModel({ session }: { session: Session }) {
  return <>{withoutPiles(recentOf(session).model ?? "") || "–"}</>;
}
