import { seeAll, unseenInAll } from "../../state/seen.js";
import { cutoff } from "../../state/session-filter.js";
import { sessions } from "../../state/session-list.js";
import { plural } from "../../text/format.js";

/** Says in a line or two what has changed since yesterday and since the last visit. */
export function Overview() {
  const from = cutoff("yesterday");
  const changed = sessions.value.filter(({ updateTime }) => Date.parse(updateTime) >= from);
  const made = changed.filter(({ createTime }) => Date.parse(createTime) >= from);
  const unseen = unseenInAll.value;
  return (
    <p class="muted overview">
      {changed.length === 0
        ? "Nothing has changed since yesterday."
        : `${plural(changed.length, "session")} changed since yesterday, ${made.length} of them new.`}
      {unseen > 0 && (
        <>
          {` ${plural(unseen, "message")} since your last visit. `}
          <button type="button" class="text-button" onClick={seeAll}>
            Mark as seen
          </button>
        </>
      )}
    </p>
  );
}
