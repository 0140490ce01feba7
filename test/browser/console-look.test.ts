import { afterAll, beforeAll, expect, it } from "vitest";
import { builtPages } from "../support/console-pages.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith } from "../support/toolchain.js";
import { DESKTOP, findBrowser } from "./browser.js";
import { ConsolePage, callRest, textMessage } from "./console-page.js";

interface Edges {
  readonly left: number;
  readonly right: number;
}

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

  it("says in lists what the last message holds when it has no text", async () => {
    const call = { type: "tool_use", data: { id: "c1", name: "bash", input: { command: "ls" } } };
    const result = { type: "tool_result", data: { tool_use_id: "c1", content: "orders.csv" } };
    await makeSession("calls", "Calls", [{ info: { role: "assistant" }, parts: [call] }]);
    await makeSession("results", "Results", [
      { info: { role: "assistant" }, parts: [call] },
      { info: { role: "user" }, parts: [result] },
    ]);
    await makeSession("nothing", "Nothing", [{ info: { role: "assistant" }, parts: [] }]);
    await open.goTo("/");
    const expected = {
      calls: "assistant: calls bash",
      results: "tool: result of bash",
      nothing: "assistant: (no text)",
    };
    for (const [sessionId, preview] of Object.entries(expected)) {
      for (const kind of ["card", "session-item"]) {
        await open.page.locator(`.${kind}[href="#/session/${sessionId}"]`).getByText(preview).waitFor();
      }
    }
    await open.goTo("/sessions");
    await open.page.getByRole("row").filter({ hasText: "Results" }).getByText("tool: result of bash").waitFor();
  });

  it("ends the preview on a card with its third line, beside a taller card", async () => {
    const words = "a preview of many words ".repeat(30);
    await makeSession("low", "Short", [textMessage("m0", "user", words)]);
    await makeSession("high", "A title that takes two lines on its card ".repeat(3), [
      textMessage("m0", "user", words),
    ]);
    await open.goTo("/");
    const card = (sessionId: string) => open.page.locator(`.card[href="#/session/${sessionId}"]`);
    const boxOf = async (sessionId: string, part: string) => (await card(sessionId).locator(part).boundingBox())!;
    const [low, high] = [await boxOf("low", ".card-preview"), await boxOf("high", ".card-preview")];
    expect(high.y).toBeGreaterThan(low.y + 10);
    expect(low.height).toBeCloseTo(high.height);
    const [lowEnd, highEnd] = [await boxOf("low", "> :last-child"), await boxOf("high", "> :last-child")];
    expect(lowEnd.y).toBeCloseTo(highEnd.y);
    await open.picture("desktop-cards");
  });

  it("scrolls a wide table instead of breaking its words, except for very long ones", async () => {
    const row = `|${"configuration|".repeat(12)}${"0123456789".repeat(40)}|`;
    await makeSession("table", "Table", [textMessage("m0", "user", `${row}\n${"|-".repeat(13)}|\n${row}`)]);
    await open.openSession("table");
    const table = open.message(0).locator(".table-box");
    await table.waitFor();
    expect(await table.evaluate((box) => box.scrollWidth > box.clientWidth)).toBe(true);
    const lines = (await open.page.evaluate(`[...document.querySelectorAll(".table-box td")].map((cell) => {
      const words = document.createRange();
      words.selectNodeContents(cell);
      return words.getClientRects().length;
    })`)) as number[];
    expect(lines.slice(0, 12)).toEqual(Array(12).fill(1));
    expect(lines[12]).toBeGreaterThan(1);
    await open.picture("desktop-wide-table");
  });

  it("writes the place of a message from left to right below a text from right to left", async () => {
    await makeSession("rtl", "From the right", [textMessage("m0", "user", "איפה פורחות האזליאות?")]);
    await open.openSession("rtl");
    const place = open.page.locator(".entry-place");
    await place.waitFor();
    const [first, last, entry] = (await open.page.evaluate(`(() => {
      const place = document.querySelector(".entry-place");
      const all = document.createRange();
      all.selectNodeContents(place.querySelector("bdi") ?? place);
      const pieces = [...all.getClientRects()];
      return [pieces.at(0), pieces.at(-1), place.getBoundingClientRect()];
    })()`)) as [Edges, Edges, Edges];
    expect(first.right).toBeLessThan(last.left);
    expect(last.right).toBeCloseTo(entry.right, 0);
    await open.picture("desktop-from-the-right");
  });
});
