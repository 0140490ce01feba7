import { seeAll, unseenInAll } from "../../state/seen.js";
import { hasChangedIn, mayHoldMore, updateTimes } from "../../state/session-filter.js";
import { sessions } from "../../state/session-list.js";
import { TIMES, type TimeName } from "../../state/times.js";
import { plural } from "../../text/format.js";

/** Says in a line or two what has changed in a time and since the last visit. */
export function Overview({ time }: { time: TimeName }) {
  const times = updateTimes(time);
  const changed = sessions.value.filter((session) => hasChangedIn(times, session));
  const made = changed.filter(({ createTime }) => Date.parse(createTime) >= times[0]);
  const unseen = unseenInAll.value;
  return (
    <p class="muted overview">
      {changedLine(changed.length, made.length, time)}
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

/** The list is sorted by changes. While it has not been read back to the beginning of the time, more may have changed. */
function changedLine(changed: number, made: number, time: TimeName): string {
  const { phrase } = TIMES[time];
  const isCut = mayHoldMore(time);
  if (changed === 0) return `${isCut ? "Nothing that has been read" : "Nothing"} has changed ${phrase}.`;
  if (isCut) return `More than ${plural(changed, "session")} changed ${phrase}.`;
  return `${plural(changed, "session")} changed ${phrase}, ${made} of them new.`;
}
