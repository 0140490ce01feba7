import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { JsonValue } from "@bufbuild/protobuf";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TodoTrackerService } from "../../gen/sessionpool/v1/todo_service_pb.js";
import { CONVERSATION } from "../interop/conversation.js";
import { builtPages } from "../support/console-pages.js";
import { GrpcClient } from "../support/grpc-client.js";
import { startKeyedServer } from "../support/keyed-server.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith, ROOT } from "../support/toolchain.js";
import { DESKTOP, findBrowser, openBrowser, PHONE } from "./browser.js";
import { isStill } from "./console-page.js";

/** The folder for screenshots of the last run, which people can look at. */
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
    server = await startTestServer({}, undefined, await builtPages());
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

    const articles = () => page.locator("article.message");
    const picture = (what: string) => page.screenshot({ path: join(PICTURES, `${name.slice(2)}-${what}.png`) });
    const isLive = () => page.getByText("Live updates", { exact: true }).waitFor();
    const open = async (address: string) => {
      await page.goto("about:blank");
      await page.goto(`${server.httpUrl}/#${address}`);
    };

    async function expectNoSideways(): Promise<void> {
      expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    }

    it("lists the sessions, with titles as text", async () => {
      await page.getByRole("link", { name: "Fähren 京都" }).first().waitFor();
      await page.getByRole("link", { name: "<script>alert(1)</script>" }).first().waitFor();
      await expectNoSideways();
      await picture("sessions");
    });

    it("opens a session at its end", async () => {
      await page.getByRole("navigation", { name: "Sessions" }).locator('a[href="#/session/ferry"]').click();
      await isLive();
      await page.locator(`article[data-position="${CONVERSATION.length - 1}"]`).waitFor();
      await expect.poll(() => page.title()).toBe("Fähren 京都 · session-pool");
      await expectNoSideways();
      await picture("session-end");
    });

    it("shows every message while scrolling to the first", async () => {
      await open("/session/ferry");
      await isLive();
      const seen = new Map<number, string>();
      while (!seen.has(0)) {
        await page.locator(".skeleton").first().waitFor({ state: "detached" });
        const shown = await articles().evaluateAll((all) =>
          all.map((one) => [Number(one.getAttribute("data-position")), one.getAttribute("data-id") ?? ""] as const),
        );
        for (const [position, id] of shown) seen.set(position, id);
        await page.evaluate("document.querySelector('.scroller').scrollBy(0, -400)");
        await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
      }
      expect([...seen].sort(([a], [b]) => a - b).map(([, id]) => id)).toEqual(CONVERSATION.map(({ info }) => info.id));
      await expectNoSideways();
      await picture("session-start");
    });

    it("keeps its place in the address, and returns to it", async () => {
      await open("/session/ferry?at=40");
      await page.locator('article[data-position="40"]').waitFor();
      await expect.poll(() => page.url()).toMatch(/at=\d+/);
      const id = CONVERSATION[25]!.info.id;
      await open(`/session/ferry?m=${encodeURIComponent(id)}`);
      await page.locator(`article[data-id="${id}"][aria-current="true"]`).waitFor();
    });

    it("shows a message that is appended while it is open, and a revert", async () => {
      await open("/session/ferry");
      await isLive();
      const text = `live to ${name} 🚢`;
      await post("/session/ferry/message", { info: { role: "user" }, parts: [{ type: "text", text }] });
      await articles().getByText(text).waitFor();
      await picture("live");
      await post("/session/ferry/revert", { upToMessageId: CONVERSATION.at(-1)!.info.id });
      await articles().getByText(text).waitFor({ state: "detached" });
    });

    it("announces new messages below the screen without moving the reader", async () => {
      await open("/session/ferry?at=3");
      await page.locator('article[data-position="3"]').waitFor();
      await isLive();
      await isStill(page);
      const top = await page.evaluate("document.querySelector('.scroller').scrollTop");
      await post("/session/ferry/message", { info: { role: "user" }, parts: [{ type: "text", text: "one more" }] });
      await page.getByRole("button", { name: "1 new message" }).waitFor();
      expect(await page.evaluate("document.querySelector('.scroller').scrollTop")).toBe(top);
      await page.getByRole("button", { name: "1 new message" }).click();
      await articles().getByText("one more").waitFor();
      await post("/session/ferry/revert", { upToMessageId: CONVERSATION.at(-1)!.info.id });
      await articles().getByText("one more").waitFor({ state: "detached" });
    });

    it("shows a draft while it grows, and can stop it", async () => {
      const id = `draft-${name.slice(2)}`;
      await open("/session/ferry");
      await isLive();
      await post("/session/ferry/draft", { message: { info: { id, role: "assistant" } } });
      const grow = (version: number, text: string) => {
        const deltas = [{ appendText: { partId: "t", text } }];
        return post(`/session/ferry/draft/${id}:extend`, { version: String(version), deltas });
      };
      const draft = page.locator(`article[data-draft="${id}"]`);
      await draft.waitFor();
      const listed = await (await fetch(`${server.httpUrl}/session/ferry/draft`)).json();
      const { version } = (listed as { drafts: [{ version: string }] }).drafts[0];
      await grow(Number(version), "Word by ");
      await draft.getByText("Word by").waitFor();
      await draft.getByRole("button", { name: "Stop" }).click();
      await page.locator(`article[data-id="${id}"]`).getByText("Word by").waitFor();
      await draft.waitFor({ state: "detached" });
      await post("/session/ferry/revert", { upToMessageId: CONVERSATION.at(-1)!.info.id });
    });

    it("shows the todos, and why they cannot be changed", async () => {
      await open("/todos");
      await page.getByText("京都の便を確認").waitFor();
      expect(await page.locator(".todos > li").count()).toBe(TODOS.length);
      await page.getByText("HTTP only reads").waitFor();
      await expectNoSideways();
      await picture("todos");
    });

    it("opens a session whose id needs escaping", async () => {
      await open(`/session/${encodeURIComponent('a/"b"<i>&')}`);
      await page.getByRole("heading", { name: "<script>alert(1)</script>" }).waitFor();
      await page.getByText("No messages yet").waitFor();
      await picture("empty-session");
    });

    it("reports when a session does not exist, and when it is deleted", async () => {
      await open("/session/doomed");
      await page.getByText('Session "doomed" not found').waitFor();
      await picture("unknown-session");
      problems.splice(0);
      await post("/session", { sessionId: "doomed" });
      await page.getByRole("button", { name: "Try again" }).click();
      await isLive();
      expect((await fetch(`${server.httpUrl}/session/doomed`, { method: "DELETE" })).status).toBe(200);
      await page.getByText('Session "doomed" not found').waitFor();
    });
  });

  it("asks for a key, and loads further sessions", async () => {
    const guarded = await startKeyedServer("write", {}, await builtPages());
    const headers = { "content-type": "application/json", authorization: `Bearer ${guarded.key}` };
    for (let i = 0; i < PAGE + 10; i++) {
      const response = await fetch(`${guarded.httpUrl}/session`, { method: "POST", headers, body: "{}" });
      expect(response.status).toBe(200);
    }
    const browser = await openBrowser(browserPath, PHONE);
    const page = await browser.newPage();
    await page.goto(guarded.httpUrl);
    await page.getByRole("button", { name: "Key", exact: true }).click();
    await page.getByLabel("API key, kept in this tab only").fill(guarded.key);
    await page.getByRole("button", { name: "Use it" }).click();
    const items = page.locator(".session-item");
    await items.nth(PAGE - 1).waitFor();
    await items.nth(PAGE - 1).scrollIntoViewIfNeeded();
    await items.nth(PAGE + 9).waitFor();
    await browser.close();
    await guarded.stop();
  });

  it("has no button for keys where none are configured", async () => {
    const browser = await openBrowser(browserPath, DESKTOP);
    const page = await browser.newPage();
    await page.goto(server.httpUrl);
    await page.getByRole("link", { name: "Fähren 京都" }).first().waitFor();
    expect(await page.getByRole("button", { name: "Key", exact: true }).count()).toBe(0);
    await browser.close();
  });
});
