import { join } from "node:path";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { type KeyedServer, startKeyedServer } from "../support/keyed-server.js";
import { startTestServer } from "../support/server.js";
import { cached, describeWith, install, run } from "../support/toolchain.js";
import { documentedProgram } from "./documented.js";
import { PIP } from "./python.js";

/** The newest version that runs on Node.js 20. */
const NPM_PACKAGE = "openai@6.49.0";
const PYPI_PACKAGE = "openai==3.54.0";
const NPM_AGENTS = ["@openai/agents@0.20.0", "zod@4.6.7"];
const PYPI_AGENTS = "openai-agents==0.24.0";

const PROGRAMS = join(import.meta.dirname, "openai");

type Client = (baseUrl: string, key: string) => Promise<string>;

const IS_KEPT = "keeps conversations here with only a different base URL";

await describeClient(
  "the openai package of npm",
  () => withNpm("openai-npm", [NPM_PACKAGE], "openai/index.mjs", "conversations.mjs"),
  (check) => {
    it(IS_KEPT, () => check(expectConversation));
  },
);

await describeClient(
  "the openai package of PyPI",
  () => withPip("openai-pypi", PYPI_PACKAGE, "conversations.py"),
  (check) => {
    it(IS_KEPT, () => check(expectConversation));
  },
);

await describeClient(
  "the Agents SDK of npm",
  () => withNpm("openai-agents-npm", NPM_AGENTS, "@openai/agents/dist/index.mjs", "conversations-session.mjs"),
  (check) => {
    it("keeps its OpenAIConversationsSession here", () => check(expectSession));
  },
);

await describeClient(
  "the Agents SDK of PyPI",
  () => withPip("openai-agents-pypi", PYPI_AGENTS, "conversations_session.py"),
  (check) => {
    it("keeps its OpenAIConversationsSession here", () => check(expectSession));
  },
);

await describeWith(
  "the program of docs/clients.md for OpenAI's conversations",
  () => installNpm("openai-npm", [NPM_PACKAGE]),
  (folder) => {
    it("lists what it has kept", async () => {
      const server = await startTestServer({ openAi: true });
      onTestFinished(() => server.stop());
      const program = documentedProgram("js", 'from "openai"').replace("http://localhost:8080", server.httpUrl);
      // A program that is given as an argument finds the packages of the folder that it runs in.
      expect(await run(process.execPath, ["--input-type=module", "--eval", program], { cwd: folder })).toBe(
        "message\n",
      );
    });
  },
);

function installNpm(name: string, packages: string[]): Promise<string> {
  return cached(name, packages, async (made) => {
    await install("npm", [
      "install",
      "--silent",
      "--no-package-lock",
      "--ignore-scripts",
      "--prefix",
      made,
      ...packages,
    ]);
  });
}

async function withNpm(name: string, packages: string[], module: string, program: string): Promise<Client> {
  const folder = await installNpm(name, packages);
  const path = join(folder, "node_modules", module);
  return (baseUrl, key) => run(process.execPath, [join(PROGRAMS, program), path, baseUrl, key]);
}

async function withPip(name: string, requirement: string, program: string): Promise<Client> {
  const folder = await cached(name, [requirement], async (made) => {
    await install("python3", ["-m", "venv", made]);
    await install(join(made, "bin/python"), [...PIP, requirement]);
  });
  return (baseUrl, key) => run(join(folder, "bin/python"), [join(PROGRAMS, program), baseUrl, key]);
}

type Told = Readonly<Record<string, unknown>>;
type Check = (expectTold: (told: Told) => void) => Promise<void>;

function describeClient(title: string, prepare: () => Promise<Client>, cases: (check: Check) => void): Promise<void> {
  return describeWith(title, prepare, (runClient) => {
    let server: KeyedServer;

    beforeAll(async () => {
      server = await startKeyedServer("write", { openAi: true });
    });

    afterAll(() => server?.stop());

    cases(async (expectTold) => {
      expectTold(JSON.parse(await runClient(`${server.httpUrl}/v1`, server.key)) as Told);
    });
  });
}

function expectConversation(told: Told): void {
  expect(told).toMatchObject(EXPECTED);
  expect(new Set(told.ids as string[]).size).toBe(5);
}

function expectSession({ types, ...told }: Told): void {
  expect(types).toEqual([
    "message",
    "function_call",
    expect.stringMatching(/^function_call_(result|output)$/),
    "message",
  ]);
  expect(told).toEqual({
    result: "May",
    texts: ["When do the azaleas bloom?", "In May."],
    count: 29,
    last: ["More 23", "More 24"],
    popped: "More 24",
    left: 28,
    gone: 404,
    restarted: [],
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
