import { afterAll, beforeAll, expect, it } from "vitest";
import { builtPages } from "../support/console-pages.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith } from "../support/toolchain.js";
import { DESKTOP, findBrowser, PHONE } from "./browser.js";
import { ConsolePage, callRest } from "./console-page.js";

const NAMES = [
  ["endless words", "Donaudampfschifffahrtsgesellschaftskapitän".repeat(12)],
  ["mixed directions", "\u202eevil\u202c עברית English العربية \u2066isolated\u2069 \u0301\u0301\u0301"],
] as const;

const SCREENS = [
  ["phone", PHONE],
  ["desktop", DESKTOP],
] as const;

await describeWith("the shape of the console", findBrowser, (browserPath) => {
  let server: TestServer;

  beforeAll(async () => {
    server = await startTestServer({}, undefined, await builtPages());
    for (const [i, [, name]] of NAMES.entries()) await makeSession(`s${i}`, name);
  });

  afterAll(() => server.stop());

  async function makeSession(sessionId: string, name: string): Promise<void> {
    const short = name.slice(0, 50);
    const labels = { [name.slice(0, 20)]: name.slice(0, 100) };
    const markdown = `# ${name}\n\n| ${name} | ${name} |\n|---|---|\n| ${name} | b |\n\n\`${name}\`\n\n- ${name}`;
    const parts = [
      { type: "text", text: name },
      { type: "text", text: markdown },
      { type: "tool_use", data: { id: "c", name, input: { [name]: name } } },
      { type: "tool_result", data: { tool_use_id: "c", content: name, is_error: true } },
      { type: "file", data: { filename: name, mime: short, url: `https://example.com/${name}` } },
      { type: short, text: name, data: { [name]: name } },
    ];
    await callRest(server.httpUrl, "POST", "/session", {
      sessionId,
      title: name,
      labels,
      metadata: { [name]: name },
      owner: short,
    });
    await callRest(server.httpUrl, "POST", `/session/${sessionId}/message`, { info: { role: short }, parts });
    await callRest(server.httpUrl, "POST", `/session/${sessionId}/fork`, { title: name });
  }

  const CASES = SCREENS.flatMap(([screenName, screen]) =>
    NAMES.map(([what, name], i) => [screenName, what, screen, name, `s${i}`] as const),
  );

  it.each(CASES)("fits on a %s with %s in every name", async (screenName, what, screen, name, sessionId) => {
    const shown = await ConsolePage.open(browserPath, server.httpUrl, screen);
    await shown.goTo("/");
    await shown.page.locator(".session-item").first().waitFor();
    await shown.expectNoSideways();
    await shown.openSession(sessionId);
    await shown.message(0).waitFor();
    await shown.expectNoSideways();
    await shown.page.keyboard.press("g");
    await shown.page.keyboard.press("e");
    await shown.picture(`${screenName}-${what}`);
    await shown.expectNoSideways();
    for (const panel of ["Forks", "Details", "Outline"]) {
      const button = shown.page.locator(".session-tools").getByRole("button", { name: panel, exact: true });
      if ((await button.getAttribute("aria-pressed")) !== "true") await button.click();
      await shown.page.getByRole("complementary", { name: panel }).waitFor();
      await shown.expectNoSideways();
    }
    await shown.page.getByRole("complementary").getByRole("button", { name: "Close" }).click();
    await shown.useMenu("Delete");
    await shown.dialog.getByText(name.slice(0, 20)).first().waitFor();
    await shown.expectNoSideways();
    expect(shown.problems).toEqual([]);
    await shown.close();
  });
});
