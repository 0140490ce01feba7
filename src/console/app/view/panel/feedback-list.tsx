import { MessageSquareText, ThumbsDown, ThumbsUp } from "lucide";
import { withoutPiles } from "../../../../parts/piles.js";
import type { Annotation } from "../../api/types.js";
import type { Conversation } from "../../state/conversation.js";
import { linkTo } from "../../state/route.js";
import { leavePanel } from "../../state/ui.js";
import { clock, dayOf } from "../../text/format.js";
import { Icon } from "../icon.js";

const ICONS = { up: ThumbsUp, down: ThumbsDown, "": MessageSquareText };
const NAMES = { up: "Good", down: "Bad", "": "Note" };

/** The thumbs and notes of a session, or those with some words, in their order; each leads to its message. */
export function FeedbackList({ conversation, words = "" }: { conversation: Conversation; words?: string }) {
  const wanted = words.toLowerCase();
  const isWanted = ({ text, author }: Annotation) => `${text} ${author}`.toLowerCase().includes(wanted);
  const found = conversation.annotations.all.value.filter(isWanted);
  if (found.length === 0) return null;
  return (
    <section aria-label="Feedback">
      <h3>{words ? "In notes" : "Feedback"}</h3>
      <ol class="entries">
        {found.map((one) => (
          <li key={one.annotationId} class="entry">
            <a
              href={linkTo({ view: "session", sessionId: conversation.sessionId, messageId: one.messageId })}
              onClick={leavePanel}
            >
              <Icon node={ICONS[one.thumb]} />
              <span class="entry-text" dir="auto">
                <span class={one.text ? "unseen" : ""}>{NAMES[one.thumb]} </span>
                {withoutPiles(one.text)}
                <span class="muted entry-place">
                  {one.author && `${withoutPiles(one.author)} · `}
                  {dayOf(one.updateTime)} {clock(one.updateTime)}
                </span>
              </span>
            </a>
          </li>
        ))}
      </ol>
    </section>
  );
}
