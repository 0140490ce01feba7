import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../support/server.js";

const BASE = "/v1/conversations";
let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ openAi: true });
});

afterAll(() => server.stop());

/** Sends JSON text, and returns the text of the answer. */
async function send(method: string, path: string, body?: string): Promise<string> {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(server.httpUrl + path, { method, headers, ...(body !== undefined && { body }) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${answer.status} ${text}`);
  return text;
}

async function create(items = "[]"): Promise<string> {
  return JSON.parse(await send("POST", BASE, `{"items":${items}}`)).id;
}

async function idsOf(path: string): Promise<string[]> {
  const page = JSON.parse(await send("GET", path)) as { data: { id: string }[] };
  return page.data.map(({ id }) => id);
}

function numbered(count: number): string {
  return JSON.stringify(Array.from({ length: count }, (_, i) => ({ id: `i${i}`, role: "user", content: `${i}` })));
}

describe("items of OpenAI's conversations", () => {
  it("may be none when the conversation is created, as the SDKs' own sessions do", async () => {
    const id = await create("[]");
    expect(await idsOf(`${BASE}/${id}/items`)).toEqual([]);
  });

  it("keep numbers digit for digit, wherever they stand", async () => {
    const id = await create();
    const digits = "-9223372036854775809";
    const items = [
      `{"id":"tools","type":"mcp_list_tools","tools":[{"input_schema":{"maximum":${digits},"multipleOf":1e400,"minimum":-9223372036854775808}}]}`,
      `{"id":"text","role":"user","weight":${digits},"content":[{"type":"input_text","text":"x","n":${digits}}]}`,
      `{"id":"image","role":"user","content":[{"type":"input_image","size":[${digits}]}]}`,
    ];
    const created = await send("POST", `${BASE}/${id}/items`, `{"items":[${items.join(",")}]}`);
    const listed = await send("GET", `${BASE}/${id}/items?order=asc`);
    expect(listed).toBe(created);
    expect(listed.match(/-9223372036854775809(?!")/g)).toHaveLength(4);
    expect(listed).toContain('"multipleOf":1e400,"minimum":-9223372036854775808');
    expect(JSON.parse(await send("GET", `/session/${id}/message/tools`)).parts[0].data).toEqual({
      tools: [
        { input_schema: { maximum: { $number: digits }, multipleOf: { $number: "1e400" }, minimum: -(2 ** 63) } },
      ],
    });
  });

  it("keep the text around a half of a character", async () => {
    const id = await create(String.raw`[{"role":"user","content":"cut \ud83d"}]`);
    expect(await send("GET", `${BASE}/${id}/items`)).toContain('"cut \ufffd"');
  });

  it.each([
    ["", { openai_item: true }],
    [" of an older version", { openai: { form: "json" } }],
  ])("are shown as they are when the adapter for Python%s has kept them as a whole", async (_version, metadata) => {
    const id = await create();
    const data = { type: null, payload: { $number: "9223372036854775807" } };
    const info = { id: "x", role: "assistant", metadata };
    const message = {
      info,
      parts: [
        { type: "item", data },
        { type: "text", text: "y" },
      ],
    };
    await send("POST", `/session/${id}/message`, JSON.stringify(message));
    expect(await send("GET", `${BASE}/${id}/items/x`)).toBe('{"type":null,"payload":9223372036854775807,"id":"x"}');
  });

  it("are whole again where an adapter keeps values in attachments, and show other attachments as files", async () => {
    const id = await create();
    const upload = async (attachmentId: string, type: string, bytes: string) => {
      const path = `/session/${id}/attachment?attachment_id=${attachmentId}&name=${attachmentId}.x`;
      const answer = await fetch(server.httpUrl + path, {
        method: "POST",
        headers: { "content-type": type },
        body: bytes,
      });
      expect(answer.status).toBe(200);
    };
    await upload("picture", "image/png", "bytes");
    await upload("log", "text/plain", "the whole ä output");
    const listed = (path: (string | number)[], attachment_id: string, form: string) => ({ path, attachment_id, form });
    const append = (message: object) => send("POST", `/session/${id}/message`, JSON.stringify(message));
    const image = { type: "input_image", $$attachments: 1, image_url: "data:image/png;base64," };
    await append({
      info: { id: "m1", role: "user" },
      parts: [
        {
          type: "input_image",
          data: { ...image, $attachments: [listed(["data", "image_url"], "picture", "data_url")] },
          attachment: { attachmentId: "picture" },
        },
        { type: "text", text: "the", data: { $attachments: [listed(["text"], "log", "text")] } },
        { type: "attachment", attachment: { attachmentId: "log" } },
      ],
    });
    const output = { call_id: "c", output: "the", $attachments: [listed(["data", "output"], "log", "text")] };
    await append({
      info: { id: "m2", role: "tool", metadata: { openai: { type: "function_call_output" } } },
      parts: [{ type: "function_call_output", data: output, attachment: { attachmentId: "log" } }],
    });
    await append({
      info: { id: "m3", role: "user" },
      parts: ["picture", "log"].map((attachmentId) => ({ type: "file", attachment: { attachmentId } })),
    });
    const { data } = JSON.parse(await send("GET", `${BASE}/${id}/items?order=asc`));
    const whole = { type: "input_image", $attachments: 1, image_url: "data:image/png;base64,Ynl0ZXM=" };
    expect(data[0].content).toEqual([whole, { type: "input_text", text: "the whole ä output" }]);
    const answered = { id: "m2", type: "function_call_output", call_id: "c", output: "the whole ä output" };
    expect(data[1]).toEqual(answered);
    expect(JSON.parse(await send("GET", `${BASE}/${id}/items/m2`))).toEqual(answered);
    expect(data[2].content).toEqual([
      { type: "input_image", detail: "auto", file_id: "picture" },
      { type: "input_file", file_id: "log", filename: "log.x" },
    ]);
  });

  it("keep large texts and data URLs in attachments, and come back the same", async () => {
    const url = `data:image/png;base64,${Buffer.alloc(3_500_000, 7).toString("base64")}`;
    const output = "line ä\n".repeat(500_000);
    const items = [
      {
        id: "a",
        type: "message",
        role: "user",
        status: "completed",
        content: [
          { type: "input_image", image_url: url, detail: "auto" },
          { type: "input_text", text: output.slice(0, 300_000) },
        ],
      },
      { id: "b", type: "function_call_output", call_id: "c", output: output.slice(0, 2_000_000) },
    ];
    const id = await create();
    expect(JSON.parse(await send("POST", `${BASE}/${id}/items`, JSON.stringify({ items }))).data).toEqual(items);
    expect(JSON.parse(await send("GET", `${BASE}/${id}/items?order=asc`)).data).toEqual(items);
    const page = await send("GET", `/session/${id}/message`);
    expect(page.length).toBeLessThan(100_000);
    expect(JSON.parse(page).messages[0].parts[1].text.length).toBeGreaterThan(10_000);
    const listed = JSON.parse(await send("GET", `/session/${id}/attachment`));
    expect(listed.attachments.map(({ messageIds }: { messageIds: string[] }) => messageIds).sort()).toEqual([
      ["a"],
      ["a"],
      ["b"],
    ]);
    // The same items again upload nothing new.
    await send("POST", `${BASE}/${id}/items`, JSON.stringify({ items }));
    expect(JSON.parse(await send("GET", `/session/${id}/attachment`))).toEqual(listed);
  });

  it("keep a field of their own that has the name of the adapters' list", async () => {
    const id = await create();
    const item = { id: "own", type: "mcp_call", $attachments: [{ path: ["text"], attachment_id: "a", form: "text" }] };
    const sent = await send("POST", `${BASE}/${id}/items`, JSON.stringify({ items: [item] }));
    expect(JSON.parse(sent).data).toEqual([item]);
    expect(JSON.parse(await send("GET", `${BASE}/${id}/items/own`))).toEqual(item);
  });

  it("say in their place that a message was erased", async () => {
    const call = { id: "call", type: "function_call", call_id: "c", name: "f", arguments: "secret" };
    const id = await create(JSON.stringify([{ id: "q", role: "user", content: "secret" }, call]));
    for (const item of ["q", "call"]) await send("POST", `/session/${id}/message/${item}:erase`, "{}");
    expect(JSON.parse(await send("GET", `${BASE}/${id}/items?order=asc`)).data).toEqual([
      {
        id: "q",
        type: "message",
        role: "user",
        status: "completed",
        content: [{ type: "input_text", text: "[erased]" }],
      },
      {
        id: "call",
        type: "message",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "[erased]", annotations: [], logprobs: [] }],
      },
    ]);
  });
});

describe("a list goes on where it was", () => {
  it.each([
    ["asc", ["i2", "i3"], ["i3"]],
    ["desc", ["i4", "i3"], ["i3"]],
  ])("in the order %s, after the last item of a page was deleted", async (order, next, later) => {
    const id = await create(numbered(7));
    const page = `${BASE}/${id}/items?order=${order}&limit=2`;
    const first = await idsOf(page);
    await send("DELETE", `${BASE}/${id}/items/${first[1]}`);
    await send("POST", `${BASE}/${id}/items`, '{"items":[{"id":"new","role":"user","content":"new"}]}');
    expect(await idsOf(`${page}&after=${first[1]}`)).toEqual(next);
    // The next item is gone, too.
    await send("DELETE", `/session/${id}/message/${next[0]}`);
    expect((await idsOf(`${page}&after=${first[1]}`)).slice(0, 1)).toEqual(later);
  });

  it.each(["asc", "desc"])("in the order %s, when everything that was listed is deleted", async (order) => {
    const id = await create(numbered(7));
    const deleted: string[] = [];
    for (let after = ""; ; ) {
      const page = JSON.parse(await send("GET", `${BASE}/${id}/items?order=${order}&limit=2&after=${after}`));
      for (const item of page.data as { id: string }[]) {
        await send("DELETE", `${BASE}/${id}/items/${item.id}`);
        deleted.push(item.id);
      }
      if (!page.has_more) break;
      after = page.last_id;
    }
    expect(deleted.sort()).toEqual(["i0", "i1", "i2", "i3", "i4", "i5", "i6"]);
  });

  it("at the beginning, when everything around the place is deleted", async () => {
    const id = await create(numbered(6));
    await idsOf(`${BASE}/${id}/items?order=asc&limit=2`);
    for (const item of ["i0", "i1", "i2"]) await send("DELETE", `${BASE}/${id}/items/${item}`);
    expect(await idsOf(`${BASE}/${id}/items?order=asc&limit=2&after=i1`)).toEqual(["i3", "i4"]);
  });

  it("but not after an item that was never listed, or in a conversation that was deleted", async () => {
    const id = await create(numbered(4));
    await expect(idsOf(`${BASE}/${id}/items?after=nothing`)).rejects.toThrow("404");
    const [, last] = await idsOf(`${BASE}/${id}/items?limit=2`);
    await send("DELETE", `${BASE}/${id}`);
    await expect(idsOf(`${BASE}/${id}/items?after=${last}`)).rejects.toThrow("404");
  });
});
