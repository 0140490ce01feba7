import { CornerDownRight } from "lucide";
import { useState } from "preact/hooks";
import { errorLine } from "../../../../parts/lines.js";
import type { ResultView } from "../../../../parts/part-view.js";
import type { CallIndex } from "../../parts/call-index.js";
import { plural } from "../../text/format.js";
import { Icon } from "../icon.js";
import { countLines } from "./foldable.js";
import { OutputView } from "./output.js";

/** The result of a call. If the call itself is loaded, one line is enough, because the call shows the rest. */
export function ResultCard(props: { result: ResultView; calls: CallIndex; onJump: (position: number) => void }) {
  const { result, calls, onJump } = props;
  const found = result.callId ? calls.call(result.callId) : undefined;
  const [open, setOpen] = useState(found === undefined);
  const name = result.name || found?.call.name || "tool";
  return (
    <div class={`result ${result.isError && !found ? "result-failed" : ""}`}>
      <div class="result-head">
        <Icon node={CornerDownRight} />
        <button type="button" class="text-button" aria-expanded={open} onClick={() => setOpen(!open)}>
          {result.isError ? "Error of " : "Result of "}
          <strong>{name}</strong>
          <span class="muted"> {found && result.isError ? "" : summaryOf(result)}</span>
        </button>
        {found && (
          <button type="button" class="text-button muted" onClick={() => onJump(found.position)}>
            {`call in #${found.position}`}
          </button>
        )}
      </div>
      {open && <OutputView output={result.output} />}
    </div>
  );
}

function summaryOf({ isError, output }: ResultView): string {
  if (isError) return errorLine(output);
  if (output.text !== undefined) return plural(countLines(output.text), "line");
  if (output.images.length > 0) return plural(output.images.length, "picture");
  return "";
}
