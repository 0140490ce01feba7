import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import type { ReadableStream as WebStream } from "node:stream/web";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { loadUIMessages } from "../../../clients/typescript/src/adapters/ai-sdk.js";
import { createSessionPoolClient, type SessionPoolClient } from "../../../clients/typescript/src/index.js";
import { DESKTOP, findBrowser, openBrowser } from "../../browser/browser.js";
import { startTestServer, type TestServer } from "../../support/server.js";
import { cached, describeWith, install, ROOT } from "../../support/toolchain.js";
import { Bundler, documentedProgram } from "../documented.js";

/** The newest versions that work with `ai` 6, and so run on Node.js 20. */
const PACKAGES = ["@ai-sdk/react@3.0.327", "ai@6.0.326", "react@19.2.1", "react-dom@19.2.1"];

const CHAT = "azaleas";

/** The two routes that the example in docs/clients.md exports. */
interface Routes {
  POST(request: Request): Promise<Response>;
  GET(request: Request, context: { params: Promise<{ id: string }> }): Promise<Response>;
}

const MAIN = `
  import { createRoot } from "react-dom/client";
  import { Chat } from "chat";
  const id = ${JSON.stringify(CHAT)};
  const messages = await (await fetch("/messages")).json();
  createRoot(document.getElementById("root")).render(<Chat id={id} messages={messages} />);
`;

async function prepare(): Promise<{ readonly browserPath: string; readonly page: string }> {
  const browserPath = await findBrowser();
  const modules = await cached("ai-sdk-page", PACKAGES, (folder) =>
    install("npm", ["install", "--silent", "--no-package-lock", "--ignore-scripts", "--prefix", folder, ...PACKAGES]),
  );
  const chat = documentedProgram("tsx", "useChat");
  const { outputFiles } = await build({
    stdin: { contents: MAIN, resolveDir: modules, loader: "tsx" },
    bundle: true,
    write: false,
    format: "esm",
    platform: "browser",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' },
    logLevel: "silent",
    plugins: [
      {
        name: "documented",
        setup({ onResolve, onLoad }) {
          onResolve({ filter: /^chat$/ }, () => ({ path: "chat", namespace: "documented" }));
          onLoad({ filter: /.*/, namespace: "documented" }, () => ({
            contents: chat,
            resolveDir: modules,
            loader: "tsx",
          }));
        },
      },
    ],
  });
  return { browserPath, page: outputFiles[0]?.text ?? "" };
}

await describeWith("a page of the AI SDK, as docs/clients.md shows it", prepare, ({ browserPath, page: program }) => {
  const bundler = new Bundler("ai-sdk-reload-");
  let pool: TestServer;
  let client: SessionPoolClient;
  let app: Server;
  let browser: BrowserContext;
  let page: Page;
  let goOn = () => {};

  beforeAll(async () => {
    (globalThis as { modelMayGoOn?: Promise<void> }).modelMayGoOn = new Promise((resolve) => {
      goOn = resolve;
    });
    pool = await startTestServer();
    client = createSessionPoolClient({ baseUrl: pool.httpUrl });
    const route = documentedProgram("ts", "consumeSseStream").replaceAll("http://127.0.0.1:8080", pool.httpUrl);
    const model = join(ROOT, "test/clients/adapters/fake-openai-that-waits.ts");
    const bundle = await bundler.bundle("route", route, { "@ai-sdk/openai": model });
    const routes = (await import(pathToFileURL(bundle).href)) as Routes;
    app = createServer((request, response) => void answer(routes, request, response));
    app.listen(0, "127.0.0.1");
    await once(app, "listening");
    browser = await openBrowser(browserPath, DESKTOP);
    page = await browser.newPage();
  });

  afterAll(async () => {
    await browser?.close();
    app?.closeAllConnections();
    app?.close();
    await pool?.stop();
    bundler.remove();
  });

  async function answer(routes: Routes, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const made = await respond(routes, request.method ?? "GET", pathname, await text(request));
    response.writeHead(made.status, Object.fromEntries(made.headers));
    if (made.body === null) response.end();
    else Readable.fromWeb(made.body as WebStream).pipe(response);
  }

  async function respond({ POST, GET }: Routes, method: string, path: string, body: string): Promise<Response> {
    if (path === "/") {
      const html = `<!doctype html><title>Chat</title><div id="root"></div><script type="module" src="/page.js"></script>`;
      return new Response(html, { headers: { "content-type": "text/html" } });
    }
    if (path === "/page.js") return new Response(program, { headers: { "content-type": "text/javascript" } });
    if (path === "/messages") return Response.json(await loadUIMessages(client, CHAT));
    if (path === "/api/chat" && method === "POST")
      return POST(new Request("http://localhost/api/chat", { method, body }));
    const [, id] = /^\/api\/chat\/(\w+)\/stream$/.exec(path) ?? [];
    if (id === undefined) return new Response(null, { status: 404 });
    return GET(new Request(`http://localhost${path}`), { params: Promise.resolve({ id }) });
  }

  const shown = () => page.locator("p").allTextContents();

  it("continues an answer after it was reloaded in the middle of the answer", async () => {
    await page.goto(`http://127.0.0.1:${(app.address() as AddressInfo).port}/`);
    await page.getByRole("textbox").fill("When do the azaleas bloom?");
    await page.getByRole("button", { name: "Send" }).click();
    const begun = ["user: When do the azaleas bloom?", "assistant: Late"];
    await expect.poll(shown).toEqual(begun);
    await page.reload();
    await expect.poll(shown).toEqual(begun);
    goOn();
    const whole = ["user: When do the azaleas bloom?", "assistant: Late April to the middle of May."];
    await expect.poll(shown).toEqual(whole);
    await page.locator("button:enabled").waitFor();
    await expect.poll(async () => (await loadUIMessages(client, CHAT)).length).toBe(2);
    await page.reload();
    await expect.poll(shown).toEqual(whole);
    await page.locator("button:enabled").waitFor();
  });
});
