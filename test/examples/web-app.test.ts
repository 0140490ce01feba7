import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { SessionPoolClient } from "../../clients/typescript/src/index.js";
import { MessageService } from "../../gen/sessionpool/v1/message_service_pb.js";
import { SessionService } from "../../gen/sessionpool/v1/session_service_pb.js";
import { newTicketSecret } from "../../src/server/auth/ticket-secrets.js";
import { DESKTOP, findBrowser, openBrowser } from "../browser/browser.js";
import { documentedProgram } from "../clients/documented.js";
import { preparePythonClient } from "../clients/python.js";
import { freePort } from "../support/free-port.js";
import { poll } from "../support/poll.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith, ROOT, run } from "../support/toolchain.js";
import { attempts } from "./foreign-attempts.js";

declare global {
  var client: SessionPoolClient;
}

/** Seconds between two words. A whole answer takes longer than a test needs to stop it. */
const SLOW = "0.5";
/** For how many seconds a token is valid: it expires in the middle of every answer. */
const SHORT = "3";
const WORDS = "A piece table keeps the text that was";

interface Backend {
  readonly program: string;
  readonly args: (folder: string) => readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

it("is what docs/clients.md shows of it", () => {
  const shown: Record<string, readonly string[]> = {
    "backend.ts": [documentedProgram("ts", "setSubject(user)")],
    "backend.py": [documentedProgram("python", "def token_of(user)")],
    "page.js": [
      documentedProgram("js", "let token;"),
      documentedProgram("js", "async function follow()"),
      documentedProgram("js", 'on(stop, "click"'),
      documentedProgram("js", 'on(share, "click"'),
    ],
  };
  for (const [name, blocks] of Object.entries(shown)) {
    const program = readFileSync(join(ROOT, "examples/web-app", name), "utf8");
    for (const block of blocks) expect(program).toContain(block);
  }
});

await describeWebApp("TypeScript", async () => ({
  program: process.execPath,
  args: (folder) => [join(folder, "backend.mjs")],
}));

await describeWebApp("Python", async () => {
  // PyJWT and cryptography come with the frameworks of the client's tests.
  const { program, env } = await preparePythonClient();
  return { program, env, args: () => [join(ROOT, "examples/web-app/backend.py")] };
});

function describeWebApp(language: string, prepare: () => Promise<Backend>): Promise<void> {
  const prepareAll = async () => ({ browserPath: await findBrowser(), backend: await prepare() });
  return describeWith(`the web app with its backend in ${language}`, prepareAll, ({ browserPath, backend }) => {
    // Below node_modules, so that the bundle of the backend finds its packages.
    const folder = mkdtempSync(join(ROOT, "node_modules/.cache/web-app-"));
    let server: TestServer;
    let program: ChildProcess;
    let lines: AsyncIterator<string>;
    let address: string;
    const browsers: BrowserContext[] = [];
    let ada: Page;
    let bob: Page;

    beforeAll(async () => {
      await buildInto(folder);
      const [port, httpPort] = [await freePort(), await freePort()];
      const service = `http://127.0.0.1:${httpPort}`;
      const args = [...backend.args(folder), service, `${port}`, folder, SLOW, SHORT];
      const env = { ...process.env, ...backend.env };
      program = spawn(backend.program, args, { cwd: ROOT, env, stdio: ["ignore", "pipe", "inherit"] });
      lines = createInterface({ input: program.stdout as NonNullable<ChildProcess["stdout"]> })[Symbol.asyncIterator]();
      address = /http:\S+/.exec((await lines.next()).value as string)?.[0] ?? "";
      writeFileSync(join(folder, "ticket-secret"), newTicketSecret(), { mode: 0o600 });
      const claims = { namespaceClaim: "namespace", scopeClaim: "scope", ownerClaim: "sub" };
      server = await startTestServer({
        httpAddress: { host: "127.0.0.1", port: httpPort },
        jwt: { jwks: join(folder, "jwks.json"), issuer: "web-app", audience: "session-pool", ...claims },
        ticketSecretFile: join(folder, "ticket-secret"),
        corsOrigins: [address],
        search: true,
      });
      for (let i = 0; i < 2; i++) browsers.push(await openBrowser(browserPath, DESKTOP));
      [ada, bob] = (await Promise.all(browsers.map((browser) => browser.newPage()))) as [Page, Page];
    });

    afterAll(async () => {
      for (const browser of browsers) await browser.close();
      program?.kill();
      await server?.stop();
      rmSync(folder, { recursive: true });
    });

    const chatOf = (page: Page) => new URLSearchParams(new URL(page.url()).hash.slice(1)).get("chat") ?? "";
    const draftOf = (page: Page, text = WORDS) => page.locator("p.draft", { hasText: text }).waitFor();

    async function signIn(page: Page, user: string, password: string): Promise<void> {
      await page.getByPlaceholder("user").fill(user);
      await page.getByPlaceholder("password").fill(password);
      await page.getByRole("button", { name: "Sign in" }).click();
    }

    async function ask(page: Page, question: string): Promise<void> {
      await page.locator("[name=question]").fill(question);
      await page.getByRole("button", { name: "Ask" }).click();
    }

    it("signs a user in, and shows an answer while it grows, also after a reload, until it is stopped", async () => {
      await ada.goto(address);
      await signIn(ada, "ada", "wrong");
      await ada.getByText("Wrong user or password").waitFor();
      await signIn(ada, "ada", "piece");
      await ada.locator("#login").waitFor({ state: "hidden" });
      await ask(ada, "Ada asks");
      await draftOf(ada, "A piece table");
      let tokens = 0;
      ada.on("request", (request) => {
        if (request.url().endsWith("/token")) tokens++;
      });
      await ada.reload();
      await draftOf(ada);
      // The page goes on with further tokens when one has expired.
      await poll(() => tokens >= 2, "the page has asked for another token");
      const shown = await ada.locator("p.draft").innerText();
      await poll(async () => (await ada.locator("p.draft").innerText()) !== shown, "the answer goes on");
      expect(await ada.locator("#history p").count()).toBe(2);
      await ada.getByRole("button", { name: "Stop" }).click();
      await ada.locator("p.assistant", { hasText: WORDS }).waitFor();
      expect(await ada.locator(".draft").count()).toBe(0);
      expect((await lines.next()).value).toMatch(/^Stopped for ada/);
    });

    it("shows a chat to whoever has its link, until the tickets are revoked", async () => {
      await ada.getByRole("button", { name: "Share" }).click();
      const link = (await ada.locator("#link a").getAttribute("href")) ?? "";
      await bob.goto(`${address}/${link}`);
      await bob.locator("p.user", { hasText: "Ada asks" }).waitFor();
      expect(await bob.locator("form:visible").count()).toBe(0);
      await ask(ada, "Ada asks again");
      await draftOf(bob, "A piece table");
      const denied = await bob.evaluate((id) => globalThis.client.append(id, []).catch(String), chatOf(ada));
      expect(denied).toMatch(/permission_denied/);
      await ada.evaluate((id) => globalThis.client.revokeTickets(id), chatOf(ada));
      await expect.poll(() => bob.locator("#problem").innerText()).toMatch(/ticket/i);
      await bob.goto("about:blank");
      await ada.getByRole("button", { name: "Stop" }).click();
      expect((await lines.next()).value).toMatch(/^Stopped for ada/);
    });

    it("shows neither user anything of the other, whatever they try from the page", async () => {
      await bob.goto(address);
      await signIn(bob, "bob", "table");
      await bob.locator("#login").waitFor({ state: "hidden" });
      await ask(bob, "Bob asks");
      await draftOf(bob, "A piece table");
      await ask(ada, "Ada asks once more");
      await draftOf(ada, "A piece table");
      const before = [await everythingOf(ada), await everythingOf(bob)];
      await tryEverything(ada, bob);
      await tryEverything(bob, ada);
      for (const page of [ada, bob]) await page.getByRole("button", { name: "Stop" }).click();
      const endings = [(await lines.next()).value, (await lines.next()).value];
      expect(endings.map((line) => /^Stopped for (\w+)/.exec(line as string)?.[1]).toSorted()).toEqual(["ada", "bob"]);
      // What each had before is still there, as it was.
      for (const [i, page] of [ada, bob].entries())
        expect((await everythingOf(page)).messages).toEqual(expect.arrayContaining(before[i]?.messages ?? []));
    });

    const everythingOf = (page: Page) =>
      page.evaluate(async (sessionId) => {
        const messages: string[] = [];
        for await (const message of globalThis.client.history(sessionId)) messages.push(JSON.stringify(message));
        const { drafts } = await globalThis.client.messages.listDrafts({ sessionId });
        const draftIds = drafts.map(({ message }) => message?.info?.id ?? "");
        return { sessionId, messages, messageIds: messages.map((one) => JSON.parse(one).info.id as string), draftIds };
      }, chatOf(page));

    /** Calls every RPC from the page of one user with the ids of another's, and with ids that nobody has. */
    async function tryEverything(page: Page, victim: Page): Promise<void> {
      const theirs = await everythingOf(victim);
      expect(theirs.draftIds).toHaveLength(1);
      const own = chatOf(page);
      const [messageId = "", draftId = ""] = [theirs.messageIds[0], theirs.draftIds[0]];
      const victimName = victim === ada ? "ada" : "bob";
      const real = attempts({ own, sessionId: theirs.sessionId, messageId, draftId, owner: victimName });
      const rpcs = [MessageService, SessionService].flatMap((service) => Object.keys(service.method));
      expect([...new Set(real.map(({ rpc }) => rpc))].toSorted()).toEqual(rpcs.toSorted());
      const nobody = attempts({ own, sessionId: "guess-s", messageId: "guess-m", draftId: "guess-d", owner: "nobody" });
      for (const [i, attempt] of real.entries()) {
        const got = await outcome(page, attempt);
        for (const id of [theirs.sessionId, messageId, draftId].filter((id) => !attempt.names.includes(id)))
          expect(got).not.toContain(id);
        expect(got).not.toMatch(victim === ada ? /Ada asks/ : /Bob asks/);
        // Of what exists, they learn no more than of what does not. Only an id that is taken cannot be taken again.
        const plain = (text: string) => text.replaceAll(theirs.sessionId, "guess-s").replaceAll(messageId, "guess-m");
        if (attempt.takesId)
          expect(got).toMatch(
            /^ConnectError: \[already_exists\] Session "[^"]*" exists and was not made by this call$/,
          );
        else expect(plain(got).replaceAll(draftId, "guess-d")).toBe(await outcome(page, nobody[i] as typeof attempt));
      }
      const ticket = await page.evaluate((id) => globalThis.client.createTicket(id, { scope: "write" }), own);
      const url = (path: string) => `${server.httpUrl}/session/${theirs.sessionId}${path}ticket=${ticket.ticket}`;
      const status = (address: string) => page.evaluate(async (one) => (await fetch(one)).status, address);
      for (const path of ["?", "/message?", "/draft?", "/message:watch?"]) expect(await status(url(path))).toBe(403);
      const heard = await page.evaluate(
        (one) =>
          new Promise((resolve) => {
            const source = new EventSource(one);
            for (const kind of ["appended", "draft", "heartbeat", "error"])
              source.addEventListener(kind, () => {
                source.close();
                resolve(kind);
              });
          }),
        url("/message:watch?from_position=0&"),
      );
      expect(heard).toBe("error");
      const asked = await page.evaluate(async (chat) => {
        const headers = { "Content-Type": "application/json" };
        const body = JSON.stringify({ chat, text: "Not mine" });
        return (await fetch("/ask", { method: "POST", headers, body })).status;
      }, theirs.sessionId);
      expect(asked).toBe(404);
    }
  });
}

/** What a user gets by a call: the answer as JSON, or the error. */
function outcome(page: Page, { service, rpc, request }: ReturnType<typeof attempts>[number]): Promise<string> {
  return page.evaluate(
    async ([name, method, sent]) => {
      const methods = globalThis.client[name] as never as Record<string, CallableFunction>;
      try {
        const answer = await methods[method]?.(sent);
        if (!method.startsWith("watch")) return JSON.stringify(answer);
        // Tokens are random.
        for await (const { resumeToken: _, ...event } of answer) return JSON.stringify(event);
        return "no event";
      } catch (error) {
        return String(error);
      }
    },
    [service, rpc, request] as const,
  );
}

/** Builds the page and the backend as examples/README.md says. */
async function buildInto(folder: string): Promise<void> {
  const commands = documentedProgram("sh", "examples/web-app/page.js").split("\n");
  const builds = commands.filter((command) => command.startsWith("npx esbuild ")).join("\n");
  await run("bash", ["-e", "-c", builds.replaceAll("build/web-app", folder)]);
}
