/** Stores and reads conversations with OpenAI's unmodified client, and prints what it got as a JSON object. */
import { pathToFileURL } from "node:url";

const [openAiModule, baseURL, apiKey] = process.argv.slice(2);
const { default: OpenAI } = await import(pathToFileURL(openAiModule).href);
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });

const conversation = await client.conversations.create({
  metadata: { topic: "Kyoto" },
  items: [{ type: "message", role: "user", content: "When do the azaleas bloom?" }],
});
const { id } = conversation;
const created = await client.conversations.items.create(id, {
  items: [
    {
      id: "fc_1",
      type: "function_call",
      call_id: "call_1",
      name: "bloom",
      arguments: '{"place":"Kyoto"}',
      status: "completed",
    },
    { type: "function_call_output", call_id: "call_1", output: "Late April" },
    {
      id: "msg_1",
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "Late April to the middle of May.", annotations: [], logprobs: [] }],
    },
    {
      role: "user",
      content: [
        { type: "input_text", text: "Like these?" },
        { type: "input_image", image_url: "https://example.com/a.png", detail: "auto", file_id: null },
      ],
    },
  ],
});
const upward = [];
for await (const item of client.conversations.items.list(id, { order: "asc", limit: 2 })) upward.push(item);
const downward = [];
for await (const item of client.conversations.items.list(id, {
  limit: 2,
  include: ["message.input_image.image_url"],
})) {
  downward.push(item.type);
}
const updated = await client.conversations.update(id, { metadata: { topic: "Nara" } });
const retrieved = await client.conversations.retrieve(id);
const item = await client.conversations.items.retrieve("fc_1", { conversation_id: id });
const refused = [];
for (const call of [
  () => client.conversations.items.retrieve("nothing", { conversation_id: id }),
  () => client.conversations.items.create(id, { items: [{ type: "item_reference", id: "msg_1" }] }),
  () => client.conversations.create({ metadata: { budget: 3 } }),
  () => client.responses.create({ model: "gpt-5", input: "hello" }),
  () => new OpenAI({ baseURL, apiKey: "sp_wrong", maxRetries: 0 }).conversations.retrieve(id),
]) {
  refused.push(
    await call().then(
      () => "accepted",
      ({ status, code, param }) => [status, code, param ?? null],
    ),
  );
}
const remaining = await client.conversations.items.delete("msg_1", { conversation_id: id });
const left = await client.conversations.items.list(id, { order: "asc" });
const deleted = await client.conversations.delete(id);
const gone = await client.conversations.retrieve(id).then(
  () => "there",
  ({ status }) => status,
);

console.log(
  JSON.stringify({
    id,
    isRecent: Math.abs(Date.now() / 1000 - conversation.created_at) < 600,
    objects: [conversation.object, created.object, deleted.object],
    created: created.data.map((one) => one.type),
    upward: upward.map(({ id: _id, ...rest }) => rest),
    ids: upward.map((one) => one.id),
    downward,
    metadata: [conversation.metadata, updated.metadata, retrieved.metadata],
    item,
    refused,
    afterDelete: [remaining.id === id, left.data.map((one) => one.type)],
    deleted: deleted.deleted,
    gone,
  }),
);
