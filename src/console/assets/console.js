import { ApiError, storedKey, storeKey } from "./api.js";
import { byId, element } from "./dom.js";
import { showSessions, showTodos } from "./lists-view.js";
import { showSession } from "./session-view.js";

/** gRPC's code. */
const UNAUTHENTICATED = 16;

const view = byId("view");
const notice = byId("notice");
let leave = new AbortController();

/** Shows what the address names, and ends what the view before was doing. */
async function route() {
  leave.abort();
  leave = new AbortController();
  const { signal } = leave;
  tell("");
  view.replaceChildren(element("p", { className: "muted" }, "Loading…"));
  try {
    await show(location.hash.slice(1) || "/", signal);
  } catch (error) {
    if (signal.aborted) return;
    view.replaceChildren();
    tell(describe(error));
  }
}

function show(address, signal) {
  const session = /^\/session\/(.+)$/.exec(address);
  if (session !== null) return showSession(view, decodeURIComponent(session[1]), { signal, tell });
  return address === "/todos" ? showTodos(view, signal) : showSessions(view, signal);
}

function tell(text) {
  notice.textContent = text;
  notice.hidden = text === "";
}

function describe(error) {
  if (error instanceof ApiError && error.code === UNAUTHENTICATED) return `${error.message}. Use the Key button above`;
  return error instanceof ApiError ? error.message : "The server cannot be reached";
}

function askForKey() {
  const input = byId("key-input");
  input.value = storedKey();
  byId("key-dialog").showModal();
}

byId("key").addEventListener("click", askForKey);
byId("key-cancel").addEventListener("click", () => byId("key-dialog").close());
byId("key-save").addEventListener("click", () => {
  storeKey(byId("key-input").value.trim());
  byId("key-dialog").close();
  route();
});
byId("key-input").addEventListener("keydown", (event) => {
  if (event.key === "Enter") byId("key-save").click();
});
addEventListener("hashchange", route);
route();
