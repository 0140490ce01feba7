// A conversation that is kept, forked, reverted and followed, with Connect.
import { create } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { MessageService, MessageWithPartsSchema } from "../../gen/sessionpool/v1/message_service_pb.js";
import { SessionService } from "../../gen/sessionpool/v1/session_service_pb.js";

const baseUrl = process.argv[2] ?? "http://127.0.0.1:8080";
const transport = createConnectTransport({ baseUrl, httpVersion: "2" });
const sessions = createClient(SessionService, transport);
const messages = createClient(MessageService, transport);

/** Makes a message with an id of our own, so that sending it again stores nothing twice. */
function message(id: string, role: string, text: string) {
  return create(MessageWithPartsSchema, { info: { id, role }, parts: [{ type: "text", text }] });
}

async function lastText(sessionId: string): Promise<string | undefined> {
  const page = await messages.listMessages({ sessionId, limit: 1, newestFirst: true });
  return page.messages[0]?.parts[0]?.text;
}

const { sessionId } = await sessions.createSession({ title: "Kyoto in May" });
const question = message("question", "user", "When do the azaleas bloom?");
const first = await messages.appendMessage({ sessionId, message: question });
const again = await messages.appendMessage({ sessionId, message: question });
console.log(`question at ${first.position}, sent again at ${again.position}`);
await messages.appendMessage({
  sessionId,
  message: message("answer", "assistant", "Late April to the middle of May."),
});

const fork = await sessions.forkSession({ sessionId, upToMessageId: "question" });
const forkId = fork.session?.sessionId ?? "";
const { count } = await messages.countMessages({ sessionId });
console.log(`the fork begins with ${fork.copiedCount} of ${count} messages`);
await messages.appendMessage({
  sessionId: forkId,
  message: message("answer", "assistant", "Early May, before the holidays end."),
});
console.log(`trip: ${await lastText(sessionId)}`);
console.log(`fork: ${await lastText(forkId)}`);

const { removedCount } = await sessions.revertSession({ sessionId, upToMessageId: "question" });
const { restoredCount } = await sessions.unrevertSession({ sessionId });
console.log(`revert removed ${removedCount}, unrevert restored ${restoredCount}`);

const stopped = new AbortController();
const events = messages.watchMessages({ sessionId, fromPosition: 0n }, { signal: stopped.signal });
for await (const { event } of events) {
  if (event.case !== "appended") continue;
  const { info, parts } = event.value;
  console.log(`followed ${info?.role}: ${parts[0]?.text}`);
  if (info?.position === count - 1n) break;
}
stopped.abort();
process.exit(0);
