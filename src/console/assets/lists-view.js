import { get, target } from "./api.js";
import { element, pager, time } from "./dom.js";

const PAGE = 50;

/** All sessions, the most recently updated first. */
export async function showSessions(view, signal) {
  const list = element("ul", { className: "list" });
  let token = "";
  const load = async () => {
    const page = await get(target(["session"], { limit: PAGE, page_token: token }), signal);
    list.append(...page.sessions.map(sessionItem));
    token = page.nextPageToken;
    return token !== "";
  };
  const more = pager("More", load);
  more.hidden = !(await load());
  if (signal.aborted) return;
  const empty = list.childElementCount === 0 ? element("p", { className: "muted" }, "No sessions yet") : "";
  view.replaceChildren(element("h1", {}, "Sessions"), list, ...(empty ? [empty] : []), more);
}

function sessionItem({ sessionId, title, parentId, updateTime }) {
  return element(
    "li",
    {},
    element("a", { href: sessionLink(sessionId) }, title || sessionId),
    element(
      "div",
      { className: "muted" },
      title ? `${sessionId} · ` : "",
      time(updateTime),
      parentId ? element("span", {}, " · from ", element("a", { href: sessionLink(parentId) }, parentId)) : "",
    ),
  );
}

export function sessionLink(sessionId) {
  return `#/session/${encodeURIComponent(sessionId)}`;
}

/** The one list of todos; its route wants the id of a session, whichever. */
export async function showTodos(view, signal) {
  const todos = await get(target(["all", "todo"]), signal);
  if (signal.aborted) return;
  const items = todos.map(({ content, status, priority }) =>
    element(
      "li",
      {},
      element("span", { className: status === "completed" ? "done" : "" }, content),
      " ",
      status ? element("span", { className: "badge" }, status) : "",
      " ",
      priority ? element("span", { className: "badge" }, priority) : "",
    ),
  );
  const list = element("ul", { className: "list" }, ...items);
  view.replaceChildren(
    element("h1", {}, "Todos"),
    items.length === 0 ? element("p", { className: "muted" }, "No todos") : list,
  );
}
