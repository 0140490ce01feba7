import { afterAll, beforeAll, expect, it } from "vitest";
import { builtPages } from "../support/console-pages.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith } from "../support/toolchain.js";
import { DESKTOP, findBrowser } from "./browser.js";
import { ConsolePage, callRest, textMessage } from "./console-page.js";

await describeWith("what the console looks like", findBrowser, (browserPath) => {
  let server: TestServer;
  let open: ConsolePage;
  const call = (method: string, path: string, body?: unknown) => callRest(server.httpUrl, method, path, body);

  beforeAll(async () => {
    server = await startTestServer({}, undefined, await builtPages());
    open = await ConsolePage.open(browserPath, server.httpUrl, DESKTOP);
  });

  afterAll(async () => {
    await open.close();
    await server.stop();
    expect(open.problems).toEqual([]);
  });

  async function makeSession(sessionId: string, title: string, messages: readonly object[]): Promise<void> {
    await call("POST", "/session", { sessionId, title });
    for (const message of messages) await call("POST", `/session/${sessionId}/message`, message);
  }

  it("says of a message that it has no text, and of an answer that it was interrupted", async () => {
    const text = (content: string) => ({ type: "text", text: content });
    const metadata = { interrupted: true };
    await makeSession("rows", "Rows", [
      textMessage("m0", "user", "Go on"),
      { info: { role: "assistant" }, parts: [] },
      { info: { role: "assistant" }, parts: [text(""), text(" \n")] },
      { info: { role: "user" }, parts: [text("")] },
      { info: { role: "assistant", metadata: { interrupted: "no" } }, parts: [text("Whole")] },
      { info: { role: "assistant", metadata }, parts: [text("Cut o")] },
      { info: { role: "assistant", metadata }, parts: [] },
    ]);
    await open.openSession("rows");
    for (const position of [1, 2, 3, 6]) await open.message(position).getByText("(no text)").waitFor();
    const badges = open.page.locator(".message-head .interrupted");
    for (const position of [5, 6]) await open.message(position).locator(badges).waitFor();
    expect(await badges.count()).toBe(2);
    await open.picture("desktop-no-text");
  });
});
