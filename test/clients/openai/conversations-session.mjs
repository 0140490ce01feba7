/** Keeps a conversation with the OpenAIConversationsSession of `@openai/agents`, and prints what it got as JSON. */
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [agentsModule, baseURL, apiKey] = process.argv.slice(2);
const { OpenAIConversationsSession } = await import(pathToFileURL(agentsModule).href);
const openai = createRequire(agentsModule).resolve("openai");
const { default: OpenAI } = await import(pathToFileURL(openai).href);
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });

const session = new OpenAIConversationsSession({ client });
const message = (role, type, text) => ({ type: "message", role, content: [{ type, text }] });
await session.addItems([
  { role: "user", content: "When do the azaleas bloom?" },
  { type: "function_call", callId: "c1", name: "bloom", arguments: '{"place":"Kyoto"}', status: "completed" },
  {
    type: "function_call_result",
    callId: "c1",
    name: "bloom",
    status: "completed",
    output: { type: "text", text: "May" },
  },
  { ...message("assistant", "output_text", "In May."), status: "completed" },
]);
for (let i = 0; i < 25; i += 1) await session.addItems([message("user", "input_text", `More ${i}`)]);
const items = await session.getItems();
const last = await session.getItems(2);
const popped = await session.popItem();
const again = new OpenAIConversationsSession({ client, conversationId: await session.getSessionId() });
const left = (await again.getItems()).length;
const id = await session.getSessionId();
await session.clearSession();
const gone = await client.conversations.retrieve(id).then(
  () => "there",
  ({ status }) => status,
);
const restarted = await session.getItems();
const textOf = ({ content }) => content[0].text;
console.log(
  JSON.stringify({
    types: items.slice(0, 4).map(({ type }) => type),
    result: items[2].output.text ?? items[2].output,
    texts: [textOf(items[0]), textOf(items[3])],
    count: items.length,
    last: last.map(textOf),
    popped: textOf(popped),
    left,
    gone,
    restarted,
  }),
);
