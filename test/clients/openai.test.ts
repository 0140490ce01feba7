import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type KeyedServer, startKeyedServer } from "../support/keyed-server.js";
import { cached, describeWith, install, run } from "../support/toolchain.js";
import { PIP } from "./python.js";

/** The newest version that runs on Node.js 20. */
const NPM_PACKAGE = "openai@6.49.0";
const PYPI_PACKAGE = "openai==3.54.0";

const PROGRAMS = join(import.meta.dirname, "openai");

type Client = (baseUrl: string, key: string) => Promise<string>;

await describeClient("the openai package of npm", async () => {
  const folder = await cached("openai-npm", [NPM_PACKAGE], async (made) => {
    await install("npm", [
      "install",
      "--silent",
      "--no-package-lock",
      "--ignore-scripts",
      "--prefix",
      made,
      NPM_PACKAGE,
    ]);
  });
  const module = join(folder, "node_modules/openai/index.mjs");
  return (baseUrl, key) => run(process.execPath, [join(PROGRAMS, "conversations.mjs"), module, baseUrl, key]);
});

await describeClient("the openai package of PyPI", async () => {
  const folder = await cached("openai-pypi", [PYPI_PACKAGE], async (made) => {
    await install("python3", ["-m", "venv", made]);
    await install(join(made, "bin/python"), [...PIP, PYPI_PACKAGE]);
  });
  return (baseUrl, key) => run(join(folder, "bin/python"), [join(PROGRAMS, "conversations.py"), baseUrl, key]);
});

function describeClient(title: string, prepare: () => Promise<Client>): Promise<void> {
  return describeWith(title, prepare, (runClient) => {
    let server: KeyedServer;

    beforeAll(async () => {
      server = await startKeyedServer("write", { openAi: true });
    });

    afterAll(() => server?.stop());

    it("keeps conversations here with only a different base URL", async () => {
      const told = JSON.parse(await runClient(`${server.httpUrl}/v1`, server.key)) as Record<string, unknown>;
      expect(told).toMatchObject(EXPECTED);
      expect(new Set(told.ids as string[]).size).toBe(5);
    });
  });
}

const CALL = {
  type: "function_call",
  call_id: "call_1",
  name: "bloom",
  arguments: '{"place":"Kyoto"}',
  status: "completed",
};
const MESSAGE = { type: "message", status: "completed" };
const TYPES = ["message", "function_call", "function_call_output", "message", "message"];

const EXPECTED = {
  isRecent: true,
  objects: ["conversation", "list", "conversation.deleted"],
  created: TYPES.slice(1),
  upward: [
    { ...MESSAGE, role: "user", content: [{ type: "input_text", text: "When do the azaleas bloom?" }] },
    CALL,
    { type: "function_call_output", call_id: "call_1", output: "Late April" },
    {
      ...MESSAGE,
      role: "assistant",
      content: [{ type: "output_text", text: "Late April to the middle of May.", annotations: [], logprobs: [] }],
    },
    {
      ...MESSAGE,
      role: "user",
      content: [
        { type: "input_text", text: "Like these?" },
        { type: "input_image", image_url: "https://example.com/a.png", detail: "auto", file_id: null },
      ],
    },
  ],
  downward: [...TYPES].reverse(),
  metadata: [{ topic: "Kyoto" }, { topic: "Nara" }, { topic: "Nara" }],
  item: { id: "fc_1", ...CALL },
  refused: [
    [404, "not_found", null],
    [400, "invalid_argument", "items[0].type"],
    [400, "invalid_argument", "metadata.budget"],
    [404, "not_found", null],
    [401, "unauthenticated", null],
  ],
  afterDelete: [true, TYPES.filter((_, i) => i !== 3)],
  deleted: true,
  gone: 404,
};
