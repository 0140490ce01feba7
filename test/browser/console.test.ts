import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { TodoTrackerService } from "../../gen/sessionpool/v1/todo_service_pb.js";
import { hashRandomKey, newKey } from "../../src/server/key-hash.js";
import { Browser, type Page } from "../support/browser.js";
import { GrpcClient } from "../support/grpc-client.js";
import { startTestServer, type TestServer } from "../support/server.js";

const MARKUP = "<img src=x onerror=document.title='broken'>";

let server: TestServer;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  server = await startTestServer();
  browser = new Browser();
  page = await browser.open("about:blank");
});

afterEach(() => expect(browser.problems.splice(0)).toEqual([]));

afterAll(async () => {
  await browser.close();
  await server.stop();
});

describe("the console", () => {
  it("lists sessions page by page", async () => {
    for (let i = 0; i < 60; i++) await post("/session", { sessionId: `s${i}`, title: i === 59 ? MARKUP : "" });
    await page.goTo(`${server.httpUrl}/`);
    await page.until("document.querySelectorAll('.list > li').length === 50");
    expect(await page.evaluate("document.querySelector('.list a').textContent")).toBe(MARKUP);
    await page.evaluate("[...document.querySelectorAll('button')].find((b) => b.textContent === 'More').click()");
    await page.until("document.querySelectorAll('.list > li').length === 60");
    expect(await page.evaluate("document.title")).toBe("session-pool");
  });

  it("fits a phone's screen", async () => {
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
  });

  it("opens a session, pages back, and follows it live", async () => {
    await post("/session", { sessionId: "a/b %", title: "A conversation" });
    const path = `/session/${encodeURIComponent("a/b %")}/message`;
    for (let i = 0; i < 70; i++) await post(path, message(`m${i}`, `Text ${i} ${MARKUP}`));
    await page.goTo(`${server.httpUrl}/#/session/${encodeURIComponent("a/b %")}`);
    await page.until(`${COUNT} === 50`);
    expect(await page.evaluate(LAST)).toBe(`Text 69 ${MARKUP}`);
    await page.evaluate(
      "[...document.querySelectorAll('button')].find((b) => b.textContent === 'Older messages').click()",
    );
    await page.until(`${COUNT} === 70`);
    expect(await page.evaluate("document.querySelector('article pre').textContent")).toBe(`Text 0 ${MARKUP}`);

    await post(path, message("new", "Just in"));
    await page.until(`${COUNT} === 71 && ${LAST} === 'Just in'`);
    await post(`/session/${encodeURIComponent("a/b %")}/revert`, { upToMessageId: "m9" });
    await page.until(`${COUNT} === 10`);
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
  });

  it("tells when the session is not there, and when it is deleted", async () => {
    await page.goTo(`${server.httpUrl}/#/session/nowhere`);
    await page.until("document.querySelector('#notice').textContent.includes('not found')");
    await post("/session", { sessionId: "doomed" });
    await page.goTo(`${server.httpUrl}/#/session/doomed`);
    await page.until("document.querySelector('h1')?.textContent === 'doomed'");
    await fetch(`${server.httpUrl}/session/doomed`, { method: "DELETE" });
    await page.until("document.querySelector('#notice').textContent.includes('not found')");
  });

  it("shows the todos", async () => {
    const grpc = new GrpcClient(server.grpcAddress);
    await grpc.call(TodoTrackerService, "AddTodo", { todo: { content: "Water the plants", status: "completed" } });
    grpc.close();
    await page.goTo(`${server.httpUrl}/#/todos`);
    await page.until("document.querySelector('.list .done')?.textContent === 'Water the plants'");
  });

  it("asks for a key", async () => {
    const folder = mkdtempSync(join(tmpdir(), "session-pool-console-"));
    const key = newKey();
    const keysFile = join(folder, "keys.json");
    writeFileSync(keysFile, JSON.stringify([{ name: "k", hash: hashRandomKey(key), namespace: "n", scope: "read" }]));
    const guarded = await startTestServer({ keysFile });
    await page.goTo(`${guarded.httpUrl}/`);
    await page.until("document.querySelector('#notice').textContent.includes('Use the Key button')");
    await page.evaluate("document.querySelector('#key').click()");
    await page.evaluate(`document.querySelector('#key-input').value = '${key}'`);
    await page.evaluate("document.querySelector('#key-save').click()");
    await page.until("document.querySelector('main').textContent.includes('No sessions yet')");
    await guarded.stop();
    rmSync(folder, { recursive: true });
  });
});

it("/docs shows every route of /openapi.json", async () => {
  const { paths } = (await (await fetch(`${server.httpUrl}/openapi.json`)).json()) as { paths: Record<string, object> };
  await page.goTo(`${server.httpUrl}/docs`);
  await page.until("document.querySelectorAll('details').length > 10");
  const shown = await page.evaluate<string>("document.body.textContent");
  for (const path of Object.keys(paths)) expect(shown).toContain(path);
});

const COUNT = "document.querySelectorAll('article').length";
const LAST = "[...document.querySelectorAll('article pre')].at(-1).textContent";

function message(id: string, text: string): object {
  return { info: { id, role: "user" }, parts: [{ type: "text", text }] };
}

async function post(path: string, body: object): Promise<void> {
  const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(server.httpUrl + path, init);
  expect(response.status, await response.text()).toBe(200);
}
