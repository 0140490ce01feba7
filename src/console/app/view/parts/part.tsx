import { Brain, Eraser, File as FileIcon, Info } from "lucide";
import { firstLine } from "../../../../parts/lines.js";
import type { PartView } from "../../../../parts/part-view.js";
import { withoutPiles } from "../../../../parts/piles.js";
import type { CallIndex } from "../../parts/call-index.js";
import type { Stage } from "../../parts/outcome.js";
import { Icon } from "../icon.js";
import { AttachmentBox } from "./attachment.js";
import { CallCard } from "./call-card.js";
import { Foldable } from "./foldable.js";
import { JsonTree } from "./json-tree.js";
import { MarkdownText } from "./markdown-text.js";
import { Picture } from "./output.js";
import { ResultCard } from "./result-card.js";

export interface PartProps {
  readonly view: PartView;
  readonly timestamp: string;
  readonly stage: Stage;
  readonly calls: CallIndex;
  readonly onJump: (position: number) => void;
}

/** One part of a message, shown in the way that suits its kind. */
export function PartBox({ view, timestamp, stage, calls, onJump }: PartProps) {
  switch (view.kind) {
    case "text":
      return <MarkdownText text={view.text} />;
    case "reasoning":
      return <Reasoning text={view.text} />;
    case "call":
      return <CallCard call={view} timestamp={timestamp} stage={stage} calls={calls} />;
    case "result":
      return <ResultCard result={view} calls={calls} onJump={onJump} />;
    case "image":
      return <Picture image={view} />;
    case "file":
      return (
        <p class="file">
          <Icon node={FileIcon} />
          <span>{withoutPiles(view.name)}</span>
          <span class="muted">{[view.mediaType, view.detail].filter(Boolean).join(" · ")}</span>
        </p>
      );
    case "attachment":
      return <AttachmentBox attachment={view.attachment} />;
    case "error":
      return (
        <div class="error-box" dir="auto">
          <Foldable text={view.text} />
        </div>
      );
    case "erased":
      return (
        <p class="muted note">
          <Icon node={Eraser} /> The content of this message was erased
        </p>
      );
    case "note":
      return <Note {...view} />;
    case "data":
      return <DataPart {...view} />;
  }
}

function Reasoning({ text }: { text: string }) {
  return (
    <details class="reasoning">
      <summary>
        <Icon node={Brain} /> Reasoning <span class="muted">{firstLine(text, 90)}</span>
      </summary>
      <MarkdownText text={text} />
    </details>
  );
}

function Note({ label, text, data }: Extract<PartView, { kind: "note" }>) {
  return (
    <div class="note muted">
      <Icon node={Info} /> <span>{withoutPiles(label)}</span> <span class="note-text">{withoutPiles(text)}</span>
      {data !== undefined && <JsonTree value={data} open={false} />}
    </div>
  );
}

function DataPart({ type, text, data }: Extract<PartView, { kind: "data" }>) {
  return (
    <div class="data-part">
      <p class="label">{type}</p>
      {text && <Foldable text={text} />}
      {data !== undefined && <JsonTree value={data} />}
    </div>
  );
}
