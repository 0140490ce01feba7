import { X } from "lucide";
import type { Conversation } from "../../state/conversation.js";
import { type PanelName, panel } from "../../state/ui.js";
import { IconButton } from "../icon.js";
import { DetailsPanel } from "./details-panel.js";
import { FilesPanel } from "./files-panel.js";
import { ForksPanel } from "./forks-panel.js";
import { OutlinePanel } from "./outline-panel.js";
import { SearchPanel } from "./search-panel.js";
import { TimelinePanel } from "./timeline-panel.js";

const TITLES: Readonly<Record<PanelName, string>> = {
  outline: "Outline",
  search: "Search",
  timeline: "Timeline",
  forks: "Forks",
  files: "Files",
  details: "Details",
};

/** The panel that helps readers to find their way in the open session. */
export function SidePanel({ conversation }: { conversation: Conversation }) {
  const name = panel.value;
  if (name === undefined) return null;
  return (
    <aside class="panel" aria-label={TITLES[name]}>
      <div class="panel-head">
        <h2>{TITLES[name]}</h2>
        <IconButton node={X} label="Close" onClick={() => (panel.value = undefined)} />
      </div>
      <section class="panel-body" tabindex={0} aria-label={`${TITLES[name]} of this session`}>
        {name === "outline" && <OutlinePanel conversation={conversation} />}
        {name === "search" && <SearchPanel conversation={conversation} />}
        {name === "timeline" && <TimelinePanel conversation={conversation} />}
        {name === "forks" && <ForksPanel conversation={conversation} />}
        {name === "files" && <FilesPanel conversation={conversation} />}
        {name === "details" && <DetailsPanel conversation={conversation} />}
      </section>
    </aside>
  );
}
