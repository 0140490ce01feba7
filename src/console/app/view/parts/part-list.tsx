import { useState } from "preact/hooks";
import type { PartView } from "../../../../parts/part-view.js";
import { count } from "../../text/format.js";
import { PartBox, type PartProps } from "./part.js";

/** How many parts are rendered at once. */
const STEP = 200;

/** The parts of a message or draft, the first ones at first. */
export function PartList({ views, ...props }: Omit<PartProps, "view"> & { readonly views: readonly PartView[] }) {
  const [shown, setShown] = useState(STEP);
  return (
    <>
      {views.slice(0, shown).map((view, i) => (
        <PartBox key={i} view={view} {...props} />
      ))}
      {shown < views.length && (
        <button type="button" class="fold" onClick={() => setShown(shown + STEP)}>
          {`${count(views.length - shown)} more parts`}
        </button>
      )}
    </>
  );
}
