import {
  BookOpen,
  ChartColumn,
  CircleQuestionMark,
  type IconNode,
  KeyRound,
  ListTodo,
  ListTree,
  MessageSquareText,
  MessagesSquare,
  Search,
  Table2,
  Trash2,
} from "lucide";
import { keyWanted } from "../../api/http.js";
import { binDays } from "../../state/bin.js";
import { canSearch } from "../../state/message-search.js";
import { type Route, route } from "../../state/route.js";
import { asTree, filterSince, filterText, type Since } from "../../state/session-filter.js";
import { TIMES } from "../../state/times.js";
import { dialog } from "../../state/ui.js";
import { insteadOfSessions } from "../home.js";
import { Icon, IconButton } from "../icon.js";
import { Overview } from "./overview.js";
import { SessionList } from "./session-list.js";

/** The times by which the list can be cut; the table has more of them, and fields for any time. */
const RANGES: readonly Since[] = ["all", "hour", "today", "yesterday", "thisWeek", "lastWeek", "days7"];

/** The list of all sessions. On a small screen it is a page of its own. */
export function Sidebar({ isMain }: { isMain: boolean }) {
  return (
    <div class="sidebar">
      <header class="brand-row">
        <a class="brand" href="#/">
          <Icon node={MessagesSquare} size={20} /> session-pool
        </a>
        <Tools />
      </header>
      <PageLinks />
      <search class="filters">
        <input
          id="filter"
          type="search"
          class="field"
          placeholder="Title, id, label=value, owner:name"
          aria-label="Filter sessions"
          value={filterText.value}
          onInput={(event) => (filterText.value = event.currentTarget.value)}
        />
        <Ranges />
      </search>
      {isMain ? <MainList /> : <SessionList />}
    </div>
  );
}

function Tools() {
  return (
    <div class="brand-tools">
      <a class="icon-button" href="docs" aria-label="API reference" title="API reference">
        <Icon node={BookOpen} size={18} />
      </a>
      {keyWanted.value && <IconButton node={KeyRound} label="Key" onClick={() => (dialog.value = { kind: "key" })} />}
      <IconButton node={CircleQuestionMark} label="Keys and help" onClick={() => (dialog.value = { kind: "keys" })} />
    </div>
  );
}

interface PageLink {
  readonly view: Route["view"];
  readonly text: string;
  /** What screen readers and the pointer are told; it begins with the text. */
  readonly title: string;
  readonly href: string;
  readonly node: IconNode;
}

const PAGES: readonly PageLink[] = [
  canSearch
    ? { view: "search", text: "Search", title: "Search all sessions", href: "#/search", node: Search }
    : {
        view: "search",
        text: "Messages",
        title: "Messages of all sessions",
        href: "#/search",
        node: MessageSquareText,
      },
  { view: "sessions", text: "Table", title: "Table of sessions", href: "#/sessions", node: Table2 },
  { view: "usage", text: "Usage", title: "Usage by day", href: "#/usage", node: ChartColumn },
  ...(binDays > 0 ? [{ view: "bin" as const, text: "Bin", title: "Bin", href: "#/bin", node: Trash2 }] : []),
  { view: "todos", text: "Todos", title: "Todos", href: "#/todos", node: ListTodo },
];

function PageLinks() {
  return (
    <nav class="page-links" aria-label="Pages">
      {PAGES.map(({ view, text, title, href, node }) => (
        <a
          key={view}
          class="page-link"
          href={href}
          aria-label={title}
          title={view === "search" ? `${title} (s)` : title}
          aria-current={route.value.view === view ? "page" : undefined}
        >
          <Icon node={node} size={15} /> {text}
        </a>
      ))}
    </nav>
  );
}

/** How far back the list goes, and whether forks are under their parents. */
function Ranges() {
  return (
    <div class="ranges" role="group" aria-label="Changed">
      {RANGES.map((since) => (
        <button
          key={since}
          type="button"
          class="chip chip-action"
          aria-pressed={filterSince.value === since}
          onClick={() => (filterSince.value = since)}
        >
          {since === "all" ? "All" : TIMES[since].label}
        </button>
      ))}
      <button
        type="button"
        class="chip chip-action tree-switch"
        aria-pressed={asTree.value}
        onClick={() => (asTree.value = !asTree.value)}
      >
        <Icon node={ListTree} size={14} /> Forks
      </button>
    </div>
  );
}

/** The list as a page of its own, on a small screen. */
function MainList() {
  return (
    insteadOfSessions() ?? (
      <main class="list-main">
        <h1 class="unseen">Sessions</h1>
        <Overview time={filterSince.value === "all" ? "yesterday" : filterSince.value} />
        <SessionList />
      </main>
    )
  );
}
