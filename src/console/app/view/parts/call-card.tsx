import { Ban, ChevronRight, CircleAlert, CircleCheck, CircleDashed, type IconNode, LoaderCircle } from "lucide";
import { useState } from "preact/hooks";
import { argsLine, errorLines } from "../../../../parts/lines.js";
import type { CallStatus, CallView } from "../../../../parts/part-view.js";
import { withoutPiles } from "../../../../parts/piles.js";
import type { Json } from "../../api/types.js";
import type { CallIndex } from "../../parts/call-index.js";
import type { Stage } from "../../parts/outcome.js";
import { outcomeOf } from "../../parts/outcome.js";
import { duration } from "../../text/format.js";
import { Icon } from "../icon.js";
import { Foldable } from "./foldable.js";
import { JsonTree } from "./json-tree.js";
import { OutputView } from "./output.js";

const ICONS: Readonly<Record<CallStatus, IconNode>> = {
  pending: CircleDashed,
  asking: CircleDashed,
  running: LoaderCircle,
  done: CircleCheck,
  failed: CircleAlert,
  denied: Ban,
  unended: CircleDashed,
};
const WORDS: Readonly<Record<CallStatus, string>> = {
  pending: "waiting",
  asking: "waiting for approval",
  running: "running",
  done: "done",
  failed: "failed",
  denied: "denied",
  unended: "never ended",
};

/** A tool call with its result, whichever message that is in. A failed call says why without being opened. */
export function CallCard(props: { call: CallView; timestamp: string; stage: Stage; calls: CallIndex }) {
  const { call, timestamp, stage, calls } = props;
  const found = call.callId ? calls.result(call.callId) : undefined;
  const { status, output, durationMs } = outcomeOf(call, timestamp, found, stage);
  const noResult = stage === "over" ? "No result" : "No result yet";
  const [open, setOpen] = useState(false);
  const why = status === "failed" && !open ? errorLines(output) : "";
  return (
    <div class={`call call-${status ?? "unknown"}`}>
      <button type="button" class="call-head" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span class="call-status" title={status ? WORDS[status] : noResult}>
          <Icon node={ICONS[status ?? "pending"]} />
        </span>
        <span class="call-name">{withoutPiles(call.name)}</span>
        <span class="call-args">{argsLine(call.args)}</span>
        {status && status !== "done" && <span class="call-word">{WORDS[status]}</span>}
        {durationMs !== undefined && <span class="call-time">{duration(durationMs)}</span>}
        <span class="call-chevron">
          <Icon node={ChevronRight} />
        </span>
      </button>
      {why && (
        <p class="call-why" dir="auto">
          {why}
        </p>
      )}
      {open && (
        <div class="call-body">
          <p class="label">Arguments</p>
          <Arguments args={call.args} />
          <p class="label">{status === "failed" ? "Error" : "Result"}</p>
          {output ? <OutputView output={output} /> : <p class="muted">{noResult}</p>}
        </div>
      )}
    </div>
  );
}

function Arguments({ args }: { args: Json | undefined }) {
  if (args === undefined) return <p class="muted">None</p>;
  return typeof args === "string" ? <Foldable text={args} /> : <JsonTree value={args} />;
}
