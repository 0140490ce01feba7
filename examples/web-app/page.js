// The page of a web app that calls session-pool itself, as the user who is signed in or with the ticket of a link.
import { Code, ConnectError, createSessionPoolClient, textOf } from "session-pool-client";

const { service } = document.documentElement.dataset;
const [login, chats, history, ask, stop, share, link, problem] = [
  ...document.querySelectorAll("#login, #chats, #history, #ask, #stop, #share, #link, #problem"),
];
const { chat, ticket } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

let token;
/** Gives the token of the user; a new one when there is none yet, or the server has refused it because it expired. */
async function key(signal, refused) {
  if (token === undefined || token === refused) {
    const answer = await fetch("/token", { method: "POST", signal });
    if (!answer.ok) throw new Error("Nobody is signed in");
    token = await answer.text();
  }
  return token;
}

const client = createSessionPoolClient({ baseUrl: service, ...(ticket === undefined ? { key } : { ticket }) });
// For the developer tools: whoever uses the page can call whatever the user may.
globalThis.client = client;

/** Shows errors, and asks whoever is not signed in to do that. */
function tell(error) {
  const { code, rawMessage } = ConnectError.from(error);
  if (ticket === undefined && code === Code.Unauthenticated) login.hidden = false;
  problem.textContent = rawMessage;
}

const on = (element, kind, handle) =>
  element.addEventListener(kind, (event) => {
    event.preventDefault();
    problem.textContent = "";
    handle(new FormData(login), new FormData(ask)).catch(tell);
  });

async function post(path, body) {
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await answer.text());
}

/** The paragraph of a message or draft. They share an id, so a finished draft becomes its message in place. */
function paragraphOf(id) {
  const found = [...history.children].find((one) => one.dataset.id === id);
  if (found) return found;
  const paragraph = document.createElement("p");
  paragraph.dataset.id = id;
  history.append(paragraph);
  return paragraph;
}

function show(message, className) {
  const paragraph = paragraphOf(message.info.id);
  paragraph.textContent = textOf(message);
  paragraph.className = className;
}

/** Follows a chat until the page is left. A page that is reloaded gets all of it again, with the draft as it is. */
async function follow() {
  // A link opens one session, whose ticket EventSource can send.
  for await (const { event } of client.watch(chat, { fromPosition: 0, eventSource: ticket !== undefined })) {
    const { value } = event;
    if (event.case === "appended") show(value, value.info.role);
    if (event.case === "draft") show(value.message, "draft");
    if (event.case === "draftExtended") {
      for (const { delta } of value.deltas)
        if (delta.case === "appendText") paragraphOf(value.messageId).textContent += delta.value.text;
    }
    if (event.case === "draftEnded" && !value.finished) paragraphOf(value.messageId).remove();
    stop.disabled = history.querySelector(".draft") === null;
  }
}

async function listChats() {
  for await (const { sessionId, title } of client.listSessions()) chats.append(linkTo({ chat: sessionId }, title), " ");
}

function linkTo(place, text) {
  const anchor = document.createElement("a");
  anchor.href = `#${new URLSearchParams(place)}`;
  anchor.textContent = text;
  return anchor;
}

on(login, "submit", async (fields) => {
  await post("/login", Object.fromEntries(fields));
  location.reload();
});

on(ask, "submit", async (_login, fields) => {
  const text = fields.get("question");
  if (chat !== undefined) return await post("/ask", { chat, text });
  const { sessionId } = await client.sessions.createSession({ title: text });
  await post("/ask", { chat: sessionId, text });
  location.hash = new URLSearchParams({ chat: sessionId });
});

// Finishes the drafts, which keeps what was written. If a draft has grown meanwhile, its version is another one now.
on(stop, "click", async () => {
  for (;;) {
    const { drafts } = await client.messages.listDrafts({ sessionId: chat });
    const [draft] = drafts;
    if (draft === undefined) return;
    const { message, version } = draft;
    const isLate = ({ code }) => code === Code.Aborted || code === Code.FailedPrecondition;
    await client.messages.finishDraft({ sessionId: chat, messageId: message.info.id, version }).catch((error) => {
      if (!isLate(ConnectError.from(error))) throw error;
    });
  }
});

on(share, "click", async () => {
  const made = await client.createTicket(chat, { scope: "read" });
  link.replaceChildren(linkTo({ chat, ticket: made.ticket }, "Link for readers"));
});

addEventListener("hashchange", () => location.reload());
ask.hidden = ticket !== undefined;
share.disabled = chat === undefined;
if (ticket === undefined) listChats().catch(tell);
if (chat !== undefined) follow().catch(tell);
