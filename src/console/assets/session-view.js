import { ApiError, follow, get, target, verb } from "./api.js";
import { element, pager, time } from "./dom.js";
import { sessionLink } from "./lists-view.js";

const PAGE = 50;
const RETRY_MS = [500, 1000, 2000, 5000];
/** Codes of gRPC with which following cannot go on: not found, unauthenticated, permission denied, invalid argument. */
const FINAL_CODES = [3, 5, 7, 16];

/** One conversation: its last messages, older ones by page, and new ones as they come. */
export async function showSession(view, sessionId, { signal, tell }) {
  const loaded = await get(target(["session", sessionId, "load"], { limit: PAGE }), signal);
  if (signal.aborted) return;
  const { session } = loaded;
  const messages = element("section", { ariaLabel: "Messages" }, ...loaded.messages.map(messageBox));
  const live = element("span", { className: "badge", role: "status" }, "…");
  const older = olderPager(sessionId, loaded.nextPageToken, messages, signal);
  view.replaceChildren(sessionHead(session, live), older, messages);
  scrollTo(0, document.body.scrollHeight);
  keepFollowing(sessionId, Number(session.messageCount), { messages, live, signal, tell });
}

function sessionHead({ sessionId, title, parentId, createTime, metadata, reverted }, live) {
  return element(
    "div",
    {},
    element("h1", {}, title || sessionId),
    element(
      "div",
      { className: "bar muted" },
      element("code", {}, sessionId),
      time(createTime),
      live,
      reverted ? element("span", { className: "badge" }, "reverted") : "",
      parentId ? element("a", { href: sessionLink(parentId) }, `from ${parentId}`) : "",
    ),
    jsonDetails("Metadata", metadata),
  );
}

function olderPager(sessionId, firstToken, messages, signal) {
  let token = firstToken;
  const button = pager("Older messages", async () => {
    const query = { limit: PAGE, newest_first: true, page_token: token };
    const page = await get(target(["session", sessionId, "message"], query), signal);
    const before = document.body.scrollHeight;
    messages.prepend(...page.messages.reverse().map(messageBox));
    scrollBy(0, document.body.scrollHeight - before);
    token = page.nextPageToken;
    return token !== "";
  });
  button.hidden = token === "";
  return button;
}

/** Follows until the view is left; after a broken connection it goes on behind the last event. */
async function keepFollowing(sessionId, messageCount, { messages, live, signal, tell }) {
  let from = { from_position: messageCount };
  let failures = 0;
  const onEvent = (event) => {
    failures = 0;
    from = { resume_token: event.resumeToken };
    if (event.appended) append(messages, event.appended);
    if (event.truncated) cut(messages, Number(event.truncated.messageCount));
  };
  while (!signal.aborted) {
    live.textContent = "live";
    try {
      await follow(target(["session", sessionId, verb("message:watch")], from), onEvent, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && FINAL_CODES.includes(error.code)) {
        live.textContent = "ended";
        tell(error.message);
        return;
      }
    }
    live.textContent = "reconnecting";
    await pause(RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]);
    failures += 1;
  }
}

function append(messages, message) {
  const atEnd = innerHeight + scrollY >= document.body.scrollHeight - 80;
  messages.append(messageBox(message));
  if (atEnd) scrollTo(0, document.body.scrollHeight);
}

function cut(messages, count) {
  for (const box of [...messages.children]) {
    if (Number(box.dataset.position) >= count) box.remove();
  }
}

function messageBox({ info, parts }) {
  return element(
    "article",
    { className: "message", dataset: { role: info.role, position: info.position ?? "-1", id: info.id } },
    element("div", { className: "muted" }, element("strong", {}, info.role), " ", time(info.timestamp)),
    ...parts.map(partBox),
    jsonDetails("Metadata", info.metadata),
  );
}

function partBox({ type, text, data }) {
  return element(
    "div",
    {},
    type === "text" ? "" : element("span", { className: "badge" }, type),
    text ? element("pre", { className: type === "text" ? "" : "output", dir: "auto" }, text) : "",
    jsonDetails("Data", data),
  );
}

function jsonDetails(label, value) {
  if (value === undefined || value === null || Object.keys(value).length === 0) return "";
  return element(
    "details",
    {},
    element("summary", { className: "muted" }, label),
    element("pre", { className: "json" }, JSON.stringify(value, null, 2)),
  );
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
