import { Bot, Square, Trash2 } from "lucide";
import { viewsOf } from "../../../parts/recognise.js";
import { canWrite } from "../api/ticket.js";
import type { Draft } from "../api/types.js";
import type { Conversation } from "../state/conversation.js";
import { discard, finish } from "../state/draft-actions.js";
import { Icon } from "./icon.js";
import { PartList } from "./parts/part-list.js";

/** A message that is still being written and grows as its writer continues. */
export function DraftRow({ conversation, draft }: { conversation: Conversation; draft: Draft }) {
  const { info } = draft.message;
  return (
    <article
      class="message draft"
      data-role={info.role}
      data-draft={info.id}
      aria-busy="true"
      aria-label={`${info.role}, being written`}
    >
      <div class="message-head">
        <span class="avatar">
          <Icon node={Bot} />
        </span>
        <strong>{info.role}</strong>
        <span class="writing">writing…</span>
        {canWrite && (
          <span class="draft-tools">
            <button type="button" class="chip chip-action" onClick={() => finish(conversation, info.id)}>
              <Icon node={Square} size={12} /> Stop
            </button>
            <button type="button" class="chip chip-action" onClick={() => discard(conversation, info.id)}>
              <Icon node={Trash2} size={12} /> Discard
            </button>
          </span>
        )}
      </div>
      <div class="message-body">
        <PartList
          views={viewsOf(draft.message)}
          timestamp={draft.startTime}
          stage="writing"
          calls={conversation.history.calls}
          onJump={() => undefined}
        />
      </div>
    </article>
  );
}
