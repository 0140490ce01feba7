import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, it } from "vitest";
import { MessageWithPartsSchema } from "../../gen/sessionpool/v1/message_service_pb.js";
import { poll } from "../support/poll.js";
import { freshSchemaUrl, startPostgresServer } from "../support/postgres-server.js";
import { describeWith, NotHere, needPrograms, ROOT, run } from "../support/toolchain.js";
import { CONVERSATION } from "./conversation.js";
import { type Python, preparePython } from "./python.js";

const PROGRAM = fileURLToPath(new URL("./python/conversation.py", import.meta.url));
const FORK_AT = 120;
const REVERT_TO = 60;

type Json = Readonly<Record<string, unknown>>;

interface Needed {
  readonly python: Python;
  /** The storage URL of an empty store. */
  readonly storage: string;
}

const postgres = await startPostgresServer({ fast: true });
afterAll(() => postgres?.stop());

async function onSqlite(): Promise<Needed> {
  needPrograms("curl");
  const folder = await mkdtemp(join(tmpdir(), "session-pool-conversation-"));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  return { python: await preparePython(), storage: `sqlite:${folder}/pool.db` };
}

async function onPostgres(): Promise<Needed> {
  needPrograms("curl");
  if (!postgres) throw new NotHere("no PostgreSQL server");
  return { python: await preparePython(), storage: freshSchemaUrl(postgres) };
}

const WHAT = "a conversation of 240 messages, stored by Python (grpcio) and curl";
await describeWith(`${WHAT} in SQLite`, onSqlite, describeConversation);
await describeWith(`${WHAT} in PostgreSQL`, onPostgres, describeConversation);

function describeConversation({ python, storage }: Needed): void {
  let folder: string;
  let server: StartedServer;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "session-pool-conversation-"));
    server = await StartedServer.start(storage);
  });

  afterAll(async () => {
    await server.killHard();
    await rm(folder, { recursive: true, force: true });
  });

  async function callPython(command: string, ...args: string[]): Promise<unknown> {
    const output = await run(python.program, [PROGRAM, server.grpcAddress, command, ...args], { env: python.env });
    return JSON.parse(output);
  }

  async function curl(path: string, ...args: string[]): Promise<Json> {
    const options = ["--silent", "--show-error", "--fail-with-body", ...args];
    return JSON.parse(await run("curl", [...options, `${server.httpUrl}${path}`]));
  }

  /** Creates the session and posts all messages, one after the other, with a single run of curl. */
  async function storeByCurl(sessionId: string): Promise<Json[]> {
    const posts = [
      { url: "/session", body: { sessionId, title: "Fähren 京都" } as object },
      ...CONVERSATION.map((message) => ({ url: `/session/${sessionId}/message`, body: message })),
    ];
    const sections = await Promise.all(
      posts.map(async ({ url, body }, i) => {
        await writeFile(join(folder, `body-${i}.json`), JSON.stringify(body));
        const lines = [`url = ${server.httpUrl}${url}`, "header = Content-Type: application/json"];
        return [
          ...lines,
          `data-binary = @${folder}/body-${i}.json`,
          "fail-with-body",
          String.raw`write-out = "\n"`,
        ].join("\n");
      }),
    );
    await writeFile(join(folder, "curl.txt"), sections.join("\nnext\n"));
    const output = await run("curl", ["--silent", "--show-error", "--config", join(folder, "curl.txt")]);
    return output
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Json);
  }

  async function readByCurl(sessionId: string): Promise<JsonValue[]> {
    const messages: JsonValue[] = [];
    for (let token = "", isLast = false; !isLast; isLast = token === "") {
      const page = await curl(`/session/${sessionId}/message?limit=50&page_token=${encodeURIComponent(token)}`);
      messages.push(...(page.messages as JsonValue[]));
      token = (page.nextPageToken as string | undefined) ?? "";
    }
    return messages;
  }

  async function expectAllThere(): Promise<void> {
    for (const sessionId of ["by-python", "by-curl"]) {
      const expected = CONVERSATION.map((message, position) => asStored(message, sessionId, position));
      expect(((await callPython("read", sessionId, "37")) as JsonValue[]).map(normal)).toEqual(expected);
      expect((await readByCurl(sessionId)).map(normal)).toEqual(expected);
    }
    const fork = (await callPython("read", "fork", "1000")) as { info: { id: string } }[];
    expect(fork.map(({ info }) => info.id)).toEqual(CONVERSATION.slice(0, REVERT_TO + 1).map(({ info }) => info.id));
    expect(await curl("/fork/todo")).toEqual(TODOS);
    expect(await callPython("download", "files", "all")).toEqual(CONVERSATION);
  }

  it("is stored by Python", async () => {
    await writeFile(join(folder, "conversation.json"), JSON.stringify(CONVERSATION));
    expect(await callPython("store", "by-python", join(folder, "conversation.json"))).toEqual({ stored: 240 });
  });

  it("is stored by curl", async () => {
    const [session, ...answers] = await storeByCurl("by-curl");
    expect(session).toMatchObject({ sessionId: "by-curl", messageCount: "0" });
    expect(answers).toEqual(
      CONVERSATION.map(({ info }, position) => ({ messageId: info.id, position: String(position) })),
    );
  });

  it("is uploaded by curl as a file, which a message names", async () => {
    const path = "/session/files/attachment?attachment_id=all&create_session=true";
    const file = ["--header", "Content-Type: application/json", "--data-binary", `@${folder}/conversation.json`];
    const uploaded = await curl(path, ...file);
    const parts = [{ type: "file", attachment: { attachmentId: "all" } }];
    const message = JSON.stringify({ info: { id: "m1", role: "user" }, parts });
    expect(await curl("/session/files/message", "--json", message)).toMatchObject({ messageId: "m1" });
    expect(await curl("/session/files/attachment")).toMatchObject({
      attachments: [{ ...uploaded, messageIds: ["m1"] }],
    });
  });

  it("is forked and reverted, and has todos", async () => {
    const ids = [FORK_AT, REVERT_TO].map((place) => CONVERSATION[place]!.info.id);
    const edited = await callPython("edit", "by-python", "fork", ...ids);
    expect(edited).toEqual({ copied: FORK_AT + 1, removed: FORK_AT - REVERT_TO, todos: TODOS });
  });

  it("is read back completely, page by page", expectAllThere);

  it("is complete after kill -9, with everything that was acknowledged meanwhile", async () => {
    const args = [PROGRAM, server.grpcAddress, "append_until_gone", "fork"];
    const appender = spawn(python.program, args, { env: { ...process.env, ...python.env } });
    // Listens from the start, because the appender ends as soon as the server does.
    const ended = once(appender, "close");
    let output = "";
    appender.stdout.on("data", (chunk) => {
      output += chunk;
    });
    await poll(() => output.split("\n").length > 50, "50 messages are acknowledged");
    await server.killHard();
    await ended;
    const lines = output
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown);
    expect(lines.pop()).toEqual({ ended: "UNAVAILABLE" });

    server = await StartedServer.start(storage);
    const all = (await callPython("read", "fork", "100")) as { info: { id: string } }[];
    const live = all.map(({ info }) => info.id).filter((id) => id.startsWith("live-"));
    expect(live.slice(0, lines.length)).toEqual(lines);
    // The last append may have been stored although its answer was lost.
    expect(live.length - lines.length).toBeLessThanOrEqual(1);
    const last = CONVERSATION[REVERT_TO]!.info.id;
    const truncated = await curl("/session/fork/message:truncate", "--json", JSON.stringify({ upToMessageId: last }));
    expect(truncated).toEqual({ removedCount: String(live.length) });
    await expectAllThere();
  });
}

const TODOS = [
  { id: "t1", content: "Fahrplan prüfen", status: "in_progress", priority: "high" },
  { id: "t2", content: "京都の便を確認", status: "pending", priority: "low" },
];

/** Returns the message without the fields that JSON may leave out. */
function normal(message: JsonValue): JsonValue {
  return toJson(MessageWithPartsSchema, fromJson(MessageWithPartsSchema, message));
}

function asStored(message: (typeof CONVERSATION)[number], sessionId: string, position: number): JsonValue {
  const info = { ...message.info, sessionId, position: String(position), originSessionId: sessionId };
  return normal({ ...message, info } as unknown as JsonValue);
}

/** The server that the README's first command starts, but on free ports and with a store of its own. */
class StartedServer {
  readonly grpcAddress: string;
  readonly httpUrl: string;
  readonly #npm: ChildProcess;

  private constructor(npm: ChildProcess, grpcAddress: string, httpUrl: string) {
    this.#npm = npm;
    this.grpcAddress = grpcAddress;
    this.httpUrl = httpUrl;
  }

  static async start(storage: string): Promise<StartedServer> {
    const env = {
      ...process.env,
      SESSION_POOL_GRPC_ADDRESS: "127.0.0.1:0",
      SESSION_POOL_HTTP_ADDRESS: "127.0.0.1:0",
      SESSION_POOL_STORAGE: storage,
    };
    // npm and the server get a process group of their own, so that both can be killed together.
    const npm = spawn("npm", ["start"], { cwd: ROOT, env, detached: true });
    let output = "";
    npm.stdout.on("data", (chunk) => {
      output += chunk;
    });
    npm.stderr.on("data", (chunk) => {
      output += chunk;
    });
    await poll(() => /storage .*\n/.test(output) || npm.exitCode !== null, "the start line is printed");
    const [, grpcAddress, httpUrl] = /gRPC on (\S+), HTTP on (\S+),/.exec(output) ?? [];
    if (grpcAddress === undefined || httpUrl === undefined)
      throw new Error(`The server printed no start line: ${output}`);
    return new StartedServer(npm, grpcAddress, httpUrl);
  }

  /** Sends SIGKILL to npm and the server, and resolves when npm has ended. */
  async killHard(): Promise<void> {
    if (this.#npm.exitCode !== null || this.#npm.signalCode !== null) return;
    process.kill(-this.#npm.pid!, "SIGKILL");
    await once(this.#npm, "close");
  }
}
