import { useEffect, useLayoutEffect } from "preact/hooks";
import { ticketText } from "../api/ticket.js";
import { titleOf } from "../state/actions.js";
import { route } from "../state/route.js";
import { conversation, isSmall, openConversation } from "../state/ui.js";
import { ConversationView } from "./conversation-view.js";
import { Dialogs } from "./dialogs/dialogs.js";
import { Home } from "./home.js";
import { lazy } from "./lazy.js";
import { LinkOver } from "./link-over.js";
import { Sidebar } from "./list/sidebar.js";
import { Search } from "./search.js";
import { Toasts } from "./toasts.js";
import { Todos } from "./todos.js";

const Compare = lazy(() => import("./pages/pages.js").then((one) => one.Compare));
const Sessions = lazy(() => import("./pages/pages.js").then((one) => one.Sessions));
const Bin = lazy(() => import("./pages/pages.js").then((one) => one.Bin));
const UsagePage = lazy(() => import("./pages/pages.js").then((one) => one.UsagePage));

const TITLES = {
  home: "",
  todos: "Todos",
  search: "Search",
  compare: "Compare",
  sessions: "Sessions",
  usage: "Usage",
  bin: "Bin",
} as const;

export function App() {
  const to = route.value;
  const sessionId = to.view === "session" ? to.sessionId : undefined;
  // Keys that are pressed from now on act on this session and not on the one before.
  useLayoutEffect(() => openConversation(sessionId), [sessionId]);
  const open = conversation.value;
  const isOver = ticketText !== undefined && (open === undefined || open.live.value === "ended");
  const session = isOver ? undefined : open?.session.value;
  const title = to.view === "session" ? session && titleOf(session) : TITLES[to.view];
  useEffect(() => {
    document.title = title ? `${title} · session-pool` : "session-pool";
  }, [title]);
  return (
    <div class={ticketText === undefined ? "app" : "app app-ticket"}>
      {ticketText === undefined && <Everything />}
      {ticketText !== undefined && to.view === "home" && <LinkOver />}
      {to.view === "session" && open && open.sessionId === sessionId && (
        <ConversationView key={open} conversation={open} />
      )}
      <Dialogs />
      <Toasts />
    </div>
  );
}

/** The list of sessions and the pages beside it, none of which a ticket opens. */
function Everything() {
  const to = route.value;
  return (
    <>
      {!(isSmall.value && to.view !== "home") && <Sidebar isMain={isSmall.value} />}
      {to.view === "home" && !isSmall.value && <Home />}
      {to.view === "todos" && <Todos />}
      {to.view === "search" && <Search key={to} query={to.query} />}
      {to.view === "sessions" && <Sessions key={to} query={to.query} />}
      {to.view === "usage" && <UsagePage key={to} query={to.query} />}
      {to.view === "bin" && <Bin />}
      {to.view === "compare" && <Compare sessionIds={to.sessionIds} />}
    </>
  );
}
