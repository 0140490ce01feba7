// A chat backend that keeps its conversations in session-pool.
import { createServer, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { Code, ConnectError, type SessionPoolClient, type StoredMessage, text, textOf } from "session-pool-client";
import { answer } from "./model.js";
import { clientFor } from "./users.js";

interface Call {
  client: SessionPoolClient;
  chat: string;
  body: { text?: string; id?: string };
  response: ServerResponse;
}

const routes: Record<string, (call: Call) => Promise<void>> = {
  "POST /chats/:chat": ask,
  "GET /chats/:chat": read,
  "GET /chats/:chat/live": live,
  "POST /chats/:chat/stop": stop,
  "POST /chats/:chat/retry": retry,
  "POST /chats/:chat/fork": fork,
};

async function ask({ client, chat, body, response }: Call): Promise<void> {
  const { position } = await client.append(chat, text("user", body.text ?? ""), { createSession: true });
  await beginAnswer(client, chat);
  await streamAnswer(client, chat, position, response);
}

async function read({ client, chat, response }: Call): Promise<void> {
  const said = await messagesOf(client, chat);
  sendJson(
    response,
    200,
    said.map((message) => ({ role: message.info?.role, text: textOf(message) })),
  );
}

async function live({ client, chat, response }: Call): Promise<void> {
  const question = await lastQuestion(client, chat);
  await streamAnswer(client, chat, question?.info?.position ?? 0, response);
}

async function stop({ client, chat, response }: Call): Promise<void> {
  for (;;) {
    const { drafts } = await client.messages.listDrafts({ sessionId: chat });
    if (drafts.length === 0) return sendJson(response, 200, null);
    for (const { message, version } of drafts) {
      try {
        await client.messages.finishDraft({ sessionId: chat, messageId: message?.info?.id ?? "", version });
      } catch (error) {
        // The writer was faster: it has written another word, or ended the draft. Look again.
        const { code } = ConnectError.from(error);
        if (code !== Code.Aborted && code !== Code.FailedPrecondition) throw error;
      }
    }
  }
}

async function retry({ client, chat, response }: Call): Promise<void> {
  const question = await lastQuestion(client, chat);
  await client.sessions.revertSession({ sessionId: chat, upToMessageId: question?.info?.id ?? "" });
  await beginAnswer(client, chat);
  await streamAnswer(client, chat, question?.info?.position ?? 0, response);
}

async function fork({ client, chat, body, response }: Call): Promise<void> {
  const { session } = await client.sessions.forkSession({ sessionId: chat, newSessionId: body.id ?? "" });
  sendJson(response, 200, { id: session?.sessionId, messages: session?.messageCount });
}

/** Begins an answer, which goes on when the reader goes away. */
async function beginAnswer(client: SessionPoolClient, chat: string): Promise<void> {
  const said = (await messagesOf(client, chat)).map((one) => ({ role: one.info?.role ?? "", content: textOf(one) }));
  const draft = await client.startDraft(chat, { info: { role: "assistant" } });
  const write = async () => {
    try {
      for await (const word of answer(said, draft.signal)) draft.write(word);
    } catch (error) {
      // The signal is aborted when somebody has ended the draft. Any other error interrupts the answer.
      if (draft.signal.aborted) return;
      console.error(error);
      await draft.finish({ metadata: { interrupted: true } });
      return;
    }
    await draft.finish();
  };
  write().catch((error) => {
    if (ConnectError.from(error).code !== Code.FailedPrecondition) console.error(error);
  });
}

/** Sends the answer to a question: what is there already, then each word as it is written. */
async function streamAnswer(client: SessionPoolClient, chat: string, question: number, response: ServerResponse) {
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  response.writeHead(200, { "Content-Type": "text/plain; charset=utf-8" });
  let shown = "";
  for await (const { event } of client.watch(chat, { fromPosition: question + 1, signal: gone.signal })) {
    let words = "";
    if (event.case === "draft" && event.value.message) words = textOf(event.value.message).slice(shown.length);
    if (event.case === "appended") words = textOf(event.value).slice(shown.length);
    if (event.case === "draftExtended") {
      for (const { delta } of event.value.deltas) if (delta.case === "appendText") words += delta.value.text;
    }
    shown += words;
    response.write(words);
    if (event.case === "appended" || event.case === "draftEnded" || event.case === "truncated") break;
  }
  response.end();
}

async function messagesOf(client: SessionPoolClient, chat: string): Promise<StoredMessage[]> {
  const messages: StoredMessage[] = [];
  for await (const message of client.history(chat)) messages.push(message);
  return messages;
}

async function lastQuestion(client: SessionPoolClient, chat: string): Promise<StoredMessage | undefined> {
  for await (const message of client.history(chat, { newestFirst: true })) {
    if (message.info?.role === "user") return message;
  }
  return undefined;
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "Content-Type": "application/json" }).end(`${JSON.stringify(value)}\n`);
}

const STATUSES: Partial<Record<Code, number>> = {
  [Code.NotFound]: 404,
  [Code.Unauthenticated]: 401,
  [Code.AlreadyExists]: 409,
};

const server = createServer(async (request, response) => {
  const [, chat = "", action = ""] = /^\/chats\/([\w-]+)(\/\w+)?$/.exec(request.url ?? "") ?? [];
  const route = routes[`${request.method} /chats/:chat${action}`];
  if (chat === "" || route === undefined) return sendJson(response, 404, { error: "No such route" });
  try {
    const body = request.headers["content-type"] === "application/json" ? ((await json(request)) as Call["body"]) : {};
    await route({ client: clientFor(request), chat, body, response });
  } catch (error) {
    const { code, rawMessage } = ConnectError.from(error);
    if (response.headersSent) response.destroy();
    else sendJson(response, STATUSES[code] ?? 500, { error: rawMessage });
  }
});
server.listen(8000, "127.0.0.1", () => console.log("Chats on http://127.0.0.1:8000"));
