import { describe, expect, it } from "vitest";
import { line, said, tree } from "../../../../support/chatgpt-export.js";
import { importTarget } from "../../../../support/importing.js";

const hi = () => [said("u1", "user", "hi"), said("a1", "assistant", "yo")];

async function read(...conversations: readonly unknown[]) {
  const target = importTarget();
  const report = await target.importFile(conversations);
  return { report, sessions: await target.sessions() };
}

describe("a ChatGPT conversation", () => {
  it("keeps its times and the rest of what the file says, and lists are in the order of the changes", async () => {
    const times = (seconds: number) => ({ create_time: seconds, update_time: seconds + 5.25 });
    const { sessions } = await read(
      line("newest", hi(), { ...times(1_760_000_000), gizmo_id: "g-1", is_archived: true, default_model_slug: "m" }),
      line("oldest", hi(), times(1_680_000_000)),
      line("middle", hi(), times(1_720_000_000)),
    );
    expect([...sessions.keys()]).toEqual(["newest", "middle", "oldest"]);
    expect(sessions.get("newest")).toMatchObject({
      title: "Title of newest",
      createTimeMicros: 1_760_000_000_000_000,
      updateTimeMicros: 1_760_000_005_250_000,
      metadata: { chatgpt: { gizmo_id: "g-1", is_archived: true, default_model_slug: "m" } },
    });
  });

  it.each([
    ["seconds", 1_735_689_600],
    ["seconds as text", "1735689600"],
    ["milliseconds", 1_735_689_600_000],
    ["ISO 8601", "2025-01-01T00:00:00Z"],
  ])("has times in %s", async (_, create_time) => {
    const { sessions } = await read(line("s", hi(), { create_time, update_time: create_time }));
    expect(sessions.get("s")).toMatchObject({ createTimeMicros: 1_735_689_600_000_000 });
  });

  it("takes times that are missing from its messages", async () => {
    const { sessions } = await read(line("s", hi(), { create_time: null, update_time: null }));
    const times = { createTimeMicros: 1_700_000_000_500_000, updateTimeMicros: 1_700_000_000_500_000 };
    expect(sessions.get("s")).toMatchObject(times);
  });

  it("may be the only one of its file, and not in a list", async () => {
    const target = importTarget();
    await target.importFile(line("single", hi()));
    expect((await target.sessions()).get("single")?.texts).toEqual(["user: hi", "assistant: yo"]);
  });

  it("has its other branches as forks, branches of branches among them", async () => {
    const { sessions } = await read(
      tree("s", [
        ["root", null],
        ["empty", "root", said("empty", "system", "")],
        ["u1", "empty", said("u1", "user", "joke?")],
        ["a1", "u1", said("a1", "assistant", "first")],
        ["u2", "a1", said("u2", "user", "discussed")],
        ["u2b", "a1", said("u2b", "user", "discussed otherwise")],
        ["u0", "empty", said("u0", "user", "another question")],
        ["a2", "u1", said("a2", "assistant", "again")],
      ]),
    );
    expect(Object.fromEntries([...sessions].map(([id, { texts }]) => [id, texts]))).toEqual({
      s: ["user: joke?", "assistant: again"],
      "s~a1": ["user: joke?", "assistant: first", "user: discussed otherwise"],
      "s~u2": ["user: joke?", "assistant: first", "user: discussed"],
      "s~u0": ["user: another question"],
    });
    const names = ({ parentId, forkPointId, inheritedCount, title } = sessions.get("s~u2") as never) => ({
      parentId,
      forkPointId,
      inheritedCount,
      title,
    });
    expect(names()).toEqual({ parentId: "s~a1", forkPointId: "a1", inheritedCount: 2, title: "Title of s" });
    expect(sessions.get("s~u0")).toMatchObject({ parentId: "s", forkPointId: "", inheritedCount: 0 });
  });

  const messages = ["u1", "a1", "u2"].map((id, i) => said(id, "user", id, { create_time: 1_700_000_000 + i }));
  it.each([
    ["whose current node is missing", (c: Conversation) => (c.current_node = "gone")],
    ["without a current node", (c: Conversation) => (c.current_node = null)],
    ["with a parent that is missing", (c: Conversation) => (nodeOf(c, "a1").parent = "gone")],
    ["whose root is missing", (c: Conversation) => void delete c.mapping.root],
    ["with a child that is missing", (c: Conversation) => nodeOf(c, "a1").children.push("gone")],
    ["without parents", (c: Conversation) => Object.values(c.mapping).forEach((node) => void delete node.parent)],
    ["without children", (c: Conversation) => Object.values(c.mapping).forEach((node) => void delete node.children)],
    [
      "without any links",
      (c: Conversation) =>
        Object.values(c.mapping).forEach((node) => {
          delete node.parent;
          delete node.children;
        }),
    ],
    ["whose messages are in a circle", (c: Conversation) => (nodeOf(c, "u1").parent = "u2")],
    ["of which one is its own parent", (c: Conversation) => (nodeOf(c, "a1").parent = "a1")],
  ])("%s keeps all messages in their order", async (_, change) => {
    const conversation = line("s", messages) as unknown as Conversation;
    change(conversation);
    const { sessions, report } = await read(conversation);
    expect([...sessions].map(([id, one]) => [id, one.texts])).toEqual([["s", ["user: u1", "user: a1", "user: u2"]]]);
    expect(report.leftOut).toBe(0);
  });

  it.each([
    ["no mapping", { id: "c2", title: "x" }],
    ["a mapping of another kind", { id: "c2", mapping: [] }],
    ["nothing at all", null],
    ["a text", "odd"],
  ])("with %s costs no other one, wherever it stands", async (_, odd) => {
    for (const file of [
      [odd, line("good", hi())],
      [line("good", hi()), odd],
    ]) {
      const { sessions, report } = await read(...file);
      expect([...sessions.keys()]).toEqual(["good"]);
      expect(report.leftOut).toBe(1);
      expect(report.text).toContain(`file.json, entry ${file.indexOf(odd) + 1}`);
    }
  });
});

interface Conversation {
  current_node: string | null;
  mapping: Record<string, { parent?: string; children?: string[] }>;
}

function nodeOf(conversation: Conversation, id: string): { parent?: string; children: string[] } {
  return conversation.mapping[id] as { children: string[] };
}

describe("a message of ChatGPT", () => {
  async function parts(content: unknown, more: object = {}) {
    const target = importTarget();
    const report = await target.importFile([line("s", [said("m", "user", content, more)])]);
    const message = (await target.sessions()).get("s")?.messages[0];
    return { report, message, parts: message?.parts.map(({ id: _, ...part }) => part) };
  }

  it.each([
    [
      "speech",
      {
        content_type: "multimodal_text",
        parts: [{ content_type: "audio_transcription", text: "spoken", direction: "in" }],
      },
      "text",
      "spoken",
    ],
    ["thoughts", { content_type: "thoughts", thoughts: [{ summary: "S", content: "C" }] }, "reasoning", "S\nC"],
    ["a recap", { content_type: "reasoning_recap", content: "Thought for 5s" }, "reasoning", "Thought for 5s"],
    ["a quote", { content_type: "tether_quote", url: "u", title: "T", text: "quoted" }, "text", "T\nu\nquoted"],
    ["a page", { content_type: "tether_browsing_display", result: "page", summary: null }, "text", "page"],
    ["code", { content_type: "code", language: "py", text: "1+1" }, "text", "1+1"],
    ["a type to come", { content_type: "new", text: "readable", more: 1 }, "text", "readable"],
    ["an error", { content_type: "system_error", name: "E", text: "broken" }, "error", "broken"],
  ])("has the text of %s", async (_, content, type, text) => {
    expect((await parts(content)).parts).toMatchObject([{ type, text }]);
  });

  it.each([
    ["a text for its content", "just text"],
    ["a text for its parts", { content_type: "text", parts: "just text" }],
    ["its text beside the parts", { content_type: "text", parts: [], text: "just text" }],
  ])("may have %s", async (_, content) => {
    const message = { ...said("m", "user", ""), content };
    const target = importTarget();
    expect(await target.importFile([line("s", [message])])).toMatchObject({ leftOut: 0 });
    expect((await target.sessions()).get("s")?.texts).toEqual(["user: just text"]);
  });

  it("what was spoken is found", async () => {
    const target = importTarget();
    const content = {
      content_type: "multimodal_text",
      parts: [{ content_type: "audio_transcription", text: "spoken" }],
    };
    await target.importFile([line("s", [said("m", "user", content)])]);
    const [session] = await target.use(
      async ({ sessions }) => (await sessions.listSessions({ limit: 1, view: "full" })).sessions,
    );
    expect(session?.lastMessage?.text).toBe("spoken");
  });

  it("calls a tool, and gets its result", async () => {
    const call = { recipient: "python", author: { role: "assistant" } };
    const output = { content_type: "execution_output", text: "2" };
    const target = importTarget();
    await target.importFile([
      line("s", [
        said("c", "assistant", { content_type: "code", language: "unknown", text: "1+1" }, call),
        said("r", "tool", output, { author: { role: "tool", name: "python" } }),
      ]),
    ]);
    const [asked, answered] = (await target.sessions()).get("s")?.messages ?? [];
    expect(asked?.parts).toMatchObject([{ type: "tool_call", text: "python", data: { id: "c", arguments: "1+1" } }]);
    expect(answered?.parts).toMatchObject([{ type: "tool_result", text: "2", data: { call_id: "c", name: "python" } }]);
    expect(answered?.metadata).toMatchObject({ chatgpt: { author: "python" } });
  });

  it.each([
    [
      "custom instructions",
      { content_type: "user_editable_context", user_profile: "Me", user_instructions: "Brief" },
      {},
    ],
    ["what is hidden", "Me\nBrief", { metadata: { is_visually_hidden_from_conversation: true } }],
  ])("is none of the user's for %s", async (_, content, more) => {
    const { message } = await parts(content, more);
    expect(message).toMatchObject({
      role: "system",
      parts: [{ type: "text", text: "Me\nBrief" }],
      metadata: { chatgpt: { hidden: true } },
    });
  });

  it("keeps the names of its files, also when there is nothing else, and once when it shows them", async () => {
    const attachments = [
      { id: "file-1", name: "report.pdf", size: 5, mime_type: "application/pdf" },
      { id: "file-2", name: "photo.png", size: 7 },
    ];
    const pointer = { content_type: "image_asset_pointer", asset_pointer: "file-service://file-2", width: 9 };
    const shown = { content_type: "multimodal_text", parts: [pointer, "look"] };
    expect((await parts("", { metadata: { attachments } })).parts).toMatchObject([
      { type: "file", data: { filename: "report.pdf", mime_type: "application/pdf", size: 5 } },
      { type: "file", data: { filename: "photo.png" } },
    ]);
    expect((await parts(shown, { metadata: { attachments } })).parts).toMatchObject([
      { type: "file", data: { filename: "photo.png", asset_pointer: "file-service://file-2", width: 9 } },
      { type: "text", text: "look" },
      { type: "file", data: { filename: "report.pdf" } },
    ]);
  });

  it.each([
    ["null content", null, {}, []],
    ["a null part", { content_type: "text", parts: [null, "text"] }, {}, [{ type: "text", text: "text" }]],
    ["a part of another kind", { content_type: "text", parts: [5] }, {}, [{ type: "text", text: "5" }]],
    ["no role", "text", { author: { role: null } }, [{ type: "text", text: "text" }]],
  ])("is kept with %s", async (_, content, more, expected) => {
    const { parts: found, report } = await parts(content, more);
    expect(found).toEqual(expected);
    expect(report).toMatchObject({ leftOut: 0 });
    expect(report.text).toMatch(/Mended: 1 × .*\n {2}file.json, entry 1, "s", "Title of s", message "m"/);
  });
});
