import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonValue } from "@bufbuild/protobuf";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TodoTrackerService } from "../../gen/sessionpool/v1/todo_service_pb.js";
import { hashRandomKey, newKey } from "../../src/server/auth/key-hash.js";
import { CONVERSATION } from "../interop/conversation.js";
import { GrpcClient } from "../support/grpc-client.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith, ROOT } from "../support/toolchain.js";
import { DESKTOP, findBrowser, openBrowser, PHONE } from "./browser.js";

/** Pictures of the last run, to be looked at. */
const PICTURES = join(ROOT, "node_modules/.cache/console");
const PAGE = 50;

const TODOS = [
  { id: "t1", content: "Fahrplan prüfen", status: "in_progress", priority: "high" },
  { id: "t2", content: "京都の便を確認", status: "completed", priority: "low" },
];

await describeWith("the console", findBrowser, (browserPath) => {
  let server: TestServer;

  beforeAll(async () => {
    await mkdir(PICTURES, { recursive: true });
    server = await startTestServer();
    const grpc = new GrpcClient(server.grpcAddress);
    expect(await grpc.call(TodoTrackerService, "ReplaceTodos", { todos: TODOS })).toHaveProperty("answer");
    grpc.close();
    await post("/session", { sessionId: "ferry", title: "Fähren 京都", metadata: { client: "test" } });
    await post("/session/ferry/message:batch", { messages: CONVERSATION as unknown as JsonValue });
    await post("/session/ferry/fork", { newSessionId: "fork-of-ferry" });
    await post("/session", { sessionId: 'a/"b"<i>&', title: "<script>alert(1)</script>" });
  });

  afterAll(() => server.stop());

  async function post(path: string, body: JsonValue): Promise<void> {
    const headers = { "content-type": "application/json" };
    const response = await fetch(server.httpUrl + path, { method: "POST", headers, body: JSON.stringify(body) });
    expect(response.status).toBe(200);
  }

  describe.each([
    ["a phone", PHONE],
    ["a desktop", DESKTOP],
  ])("on %s", (name, screen) => {
    let browser: BrowserContext;
    let page: Page;
    const problems: string[] = [];

    beforeAll(async () => {
      browser = await openBrowser(browserPath, screen);
      page = await browser.newPage();
      page.on("pageerror", (error) => problems.push(String(error)));
      page.on("console", (line) => line.type() === "error" && problems.push(line.text()));
      await page.goto(server.httpUrl);
    });

    afterAll(async () => {
      await browser.close();
      expect(problems).toEqual([]);
    });

    const boxes = () => page.locator("article.message");
    const picture = (what: string) => page.screenshot({ path: join(PICTURES, `${name.slice(2)}-${what}.png`) });

    async function expectNoSideways(): Promise<void> {
      expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    }

    it("lists the sessions, with titles as text", async () => {
      await page.getByRole("link", { name: "Fähren 京都" }).first().waitFor();
      expect(await page.getByText("<script>alert(1)</script>").count()).toBe(1);
      await expectNoSideways();
      await picture("sessions");
    });

    it("opens a session at its end", async () => {
      await page.locator('a[href="#/session/ferry"]').first().click();
      await page.getByText("live", { exact: true }).waitFor();
      expect(await boxes().count()).toBeGreaterThanOrEqual(PAGE);
      expect(await boxes().last().isVisible()).toBe(true);
      await expectNoSideways();
      await picture("session-end");
    });

    it("pages back to the first message", async () => {
      const older = page.getByRole("button", { name: "Older messages" });
      while (await older.isVisible()) {
        const count = await boxes().count();
        await older.click();
        await boxes().nth(count).waitFor({ state: "attached" });
        await page.waitForFunction("!document.querySelector('main button')?.disabled");
      }
      const ids = await boxes().evaluateAll((all) => all.map((box) => box.getAttribute("data-id")));
      expect(ids.slice(0, CONVERSATION.length)).toEqual(CONVERSATION.map(({ info }) => info.id));
      await page.evaluate("scrollTo(0, 0)");
      await expectNoSideways();
      await picture("session-start");
    });

    it("shows a message that is appended meanwhile, and a revert", async () => {
      const last = CONVERSATION.at(-1)!.info.id;
      await post("/session/ferry/message", {
        info: { role: "user" },
        parts: [{ type: "text", text: `live to ${name} 🚢` }],
      });
      await page.getByText(`live to ${name} 🚢`).waitFor();
      await picture("live");
      await post("/session/ferry/revert", { upToMessageId: last });
      await page.getByText(`live to ${name} 🚢`).waitFor({ state: "detached" });
      expect(await boxes().count()).toBe(CONVERSATION.length);
    });

    it("shows the todos", async () => {
      await page.getByRole("link", { name: "Todos" }).click();
      await page.getByText("京都の便を確認").waitFor();
      expect(await page.locator("ul.list > li").count()).toBe(TODOS.length);
      await expectNoSideways();
      await picture("todos");
    });

    it("opens a session whose id needs escapes", async () => {
      await page.goto(`${server.httpUrl}/#/session/${encodeURIComponent('a/"b"<i>&')}`);
      await page.getByText('a/"b"<i>&').waitFor();
      await picture("empty-session");
    });

    it("tells when a session is not there, and when it is deleted", async () => {
      await page.goto(`${server.httpUrl}/#/session/doomed`);
      await page.getByText('Session "doomed" not found').waitFor();
      problems.splice(0);
      await post("/session", { sessionId: "doomed" });
      await page.reload();
      await page.getByText("live", { exact: true }).waitFor();
      expect((await fetch(`${server.httpUrl}/session/doomed`, { method: "DELETE" })).status).toBe(200);
      await page.getByText('Session "doomed" not found').waitFor();
    });

    it("shows every route of the API", async () => {
      const api = await (await fetch(`${server.httpUrl}/openapi.json`)).json();
      await page.goto(`${server.httpUrl}/docs`);
      await page.getByText("GET /session/{sessionId}/message:watch").waitFor();
      const text = await page.locator("main").textContent();
      for (const path of Object.keys((api as { paths: object }).paths)) expect(text).toContain(path);
      await expectNoSideways();
      await picture("docs");
    });
  });

  it("pages through the sessions, and asks for a key", async () => {
    const folder = await mkdtemp(join(tmpdir(), "session-pool-console-"));
    const key = newKey();
    const entry = { name: "k", hash: hashRandomKey(key), namespace: "n", scope: "write" };
    await writeFile(join(folder, "keys.json"), JSON.stringify([entry]));
    const guarded = await startTestServer({ keysFile: join(folder, "keys.json") });
    const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
    for (let i = 0; i < PAGE + 10; i++) {
      const response = await fetch(`${guarded.httpUrl}/session`, { method: "POST", headers, body: "{}" });
      expect(response.status).toBe(200);
    }
    const browser = await openBrowser(browserPath, PHONE);
    const page = await browser.newPage();
    await page.goto(guarded.httpUrl);
    await page.getByText("Use the Key button above").waitFor();
    await page.getByRole("button", { name: "Key" }).click();
    await page.getByLabel("API key, kept in this tab only").fill(key);
    await page.getByRole("button", { name: "Use it" }).click();
    const items = page.locator("ul.list > li");
    await items.nth(PAGE - 1).waitFor();
    expect(await items.count()).toBe(PAGE);
    await page.getByRole("button", { name: "More" }).click();
    await items.nth(PAGE + 9).waitFor();
    await browser.close();
    await guarded.stop();
    await rm(folder, { recursive: true });
  });
});
