import { seeAll, unseenInAll } from "../../state/seen.js";
import { cutoff } from "../../state/session-filter.js";
import { nextPageToken, sessions } from "../../state/session-list.js";
import { plural } from "../../text/format.js";

/** Says in a line or two what has changed since yesterday and since the last visit. */
export function Overview() {
  const from = cutoff("yesterday");
  const changed = sessions.value.filter(({ updateTime }) => Date.parse(updateTime) >= from);
  const made = changed.filter(({ createTime }) => Date.parse(createTime) >= from);
  const unseen = unseenInAll.value;
  return (
    <p class="muted overview">
      {changedLine(changed.length, made.length)}
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

/** The list is sorted by changes. When all of it that was read has changed, more may have. */
function changedLine(changed: number, made: number): string {
  if (changed === 0) return "Nothing has changed since yesterday.";
  const isCut = nextPageToken.value !== "" && changed === sessions.value.length;
  if (isCut) return `More than ${plural(changed, "session")} changed since yesterday.`;
  return `${plural(changed, "session")} changed since yesterday, ${made} of them new.`;
}
