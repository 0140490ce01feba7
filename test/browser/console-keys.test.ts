import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { builtPages } from "../support/console-pages.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith } from "../support/toolchain.js";
import { DESKTOP, findBrowser } from "./browser.js";
import { ConsolePage, callRest, textMessage } from "./console-page.js";

const COUNT = 60;

const CALL = {
  info: { id: `m${COUNT}`, role: "assistant" },
  parts: [
    { type: "reasoning", text: "The log will tell" },
    { type: "tool_use", data: { id: "t1", name: "bash", input: { command: "tail import.log", lines: 40 } } },
  ],
};

await describeWith("the console by the keyboard alone", findBrowser, (browserPath) => {
  let server: TestServer;
  let open: ConsolePage;

  beforeAll(async () => {
    server = await startTestServer({}, undefined, await builtPages());
    await callRest(server.httpUrl, "POST", "/session", { sessionId: "s", title: "Sixty messages" });
    await callRest(server.httpUrl, "POST", "/session", { sessionId: "empty" });
    const messages = Array.from({ length: COUNT }, (_, i) => textMessage(`m${i}`, "user", `Message number ${i}`));
    await callRest(server.httpUrl, "POST", "/session/s/message:batch", { messages: [...messages, CALL] });
    open = await ConsolePage.open(browserPath, server.httpUrl, DESKTOP);
  });

  afterAll(async () => {
    await open.close();
    await server.stop();
    expect(open.problems).toEqual([]);
  });

  beforeEach(async () => {
    await open.openSession("s");
    await open.message(COUNT).waitFor();
  });

  const press = (key: string) => open.page.keyboard.press(key);
  const isSelected = (position: number) =>
    open.page.locator(`article[data-position="${position}"][aria-current="true"]`).waitFor();
  /** Returns the label, text or tag of the element that has the focus. */
  const focus = (): Promise<string> =>
    open.page.evaluate(`(() => {
      const one = document.activeElement;
      return one.getAttribute("aria-label") || one.textContent.trim() || one.tagName;
    })()`);

  /** Lets the page render after `act`, but not draw, and returns the value of `then`. Both may call `press`. */
  const beforeDrawing = (act: string, then: string) =>
    open.page.evaluate(`(async () => {
      const press = (key) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      ${act};
      await Promise.resolve().then().then();
      return ${then};
    })()`);

  it("g and G select the first and the last message, and j and k the next and the previous one", async () => {
    await press("g");
    await isSelected(0);
    await press("j");
    await isSelected(1);
    await press("j");
    await isSelected(2);
    await press("k");
    await isSelected(1);
    await expect.poll(focus).toBe("user, message 1");
    await press("G");
    await isSelected(COUNT);
    await press("j");
    await isSelected(COUNT);
  });

  it("Esc leaves the message", async () => {
    await press("g");
    await isSelected(0);
    await press("Escape");
    await open.page.locator("article[aria-current]").waitFor({ state: "detached" });
  });

  it("/ searches in the session, and a hit leads to its message", async () => {
    await press("/");
    await expect.poll(focus).toBe("Search in this session");
    await open.page.keyboard.type("number 17");
    await open.page.getByText("1 hit in the whole session. Searched are texts").waitFor();
    await press("Tab");
    await press("Enter");
    await isSelected(17);
  });

  it("/ filters the list when no session is open", async () => {
    await open.goTo("/");
    await open.page.locator(".session-item").first().waitFor();
    await press("/");
    await expect.poll(focus).toBe("Filter sessions");
    await open.page.keyboard.type("sixty");
    expect(await open.page.getByLabel("Filter sessions").inputValue()).toBe("sixty");
    await press("Escape");
    await expect.poll(focus).not.toBe("Filter sessions");
  });

  it("t goes to a position and to a time, and keeps the focus inside until it closes", async () => {
    await press("t");
    await open.dialog.waitFor();
    for (let i = 0; i < 12; i++) {
      await press("Tab");
      // After the last element, the focus moves to the browser's own buttons, never to the page behind.
      const isInside = "document.activeElement === document.body || !!document.activeElement.closest('dialog')";
      expect(await open.page.evaluate(isInside)).toBe(true);
    }
    await open.dialog.getByLabel("Position, 0 to 60").fill("23");
    await press("Enter");
    await isSelected(23);
    await press("t");
    await open.dialog.getByRole("button", { name: "Yesterday" }).click();
    await isSelected(0);
  });

  it("e unfolds the parts of the message, and folds them again", async () => {
    await press("G");
    await press("e");
    await open.message(COUNT).getByText("Arguments").waitFor();
    await open.message(COUNT).locator("details.reasoning[open]").waitFor();
    await press("e");
    await open.message(COUNT).getByText("Arguments").waitFor({ state: "detached" });
    expect(await open.message(COUNT).locator("details.reasoning[open]").count()).toBe(0);
  });

  it("r switches the raw view of the message on and off", async () => {
    await press("G");
    await press("r");
    await open.message(COUNT).locator(".message-body > .json").waitFor();
    await press("r");
    await open.message(COUNT).locator(".message-body > .json").waitFor({ state: "detached" });
  });

  it("f forks at the message, and Esc gives the focus back to it", async () => {
    await press("g");
    await press("j");
    await isSelected(1);
    await expect.poll(focus).toBe("user, message 1");
    await press("f");
    await expect.poll(() => open.page.evaluate("document.activeElement.id")).toBe("asked");
    await press("Escape");
    await open.dialog.waitFor({ state: "detached" });
    await expect.poll(focus).toBe("user, message 1");
    await press("f");
    await open.page.keyboard.type("By the keyboard");
    await press("Enter");
    await open.page.getByText("Forked here from").waitFor();
    await open.page.getByRole("heading", { name: "By the keyboard" }).waitFor();
  });

  it("dialogs and the menu have the focus before the next key is pressed, and before the browser draws", async () => {
    const focused = '!!document.activeElement.closest("dialog, [role=menu]")';
    for (const key of ["?", "t", "f"]) {
      expect([key, await beforeDrawing(`press("${key}")`, focused)]).toEqual([key, true]);
      await press("Escape");
      await open.dialog.waitFor({ state: "detached" });
    }
    expect(await beforeDrawing('document.querySelector("[aria-haspopup=menu]").click()', focused)).toBe(true);
  });

  it("a dialog that has closed does not close the next one", async () => {
    await press("?");
    await open.dialog.waitFor();
    await beforeDrawing('[...document.querySelectorAll("dialog button")].at(-1).click()', 'press("t")');
    await open.page.getByRole("heading", { name: "Go to" }).waitFor();
    await open.isStill();
    expect(await open.dialog.count()).toBe(1);
  });

  it.each([
    ["?", "t"],
    ["?", "?"],
    ["f", "f"],
  ])("after %s and Esc, %s opens a dialog before the page is told that the last one has closed", async (last, next) => {
    await press(last);
    await open.dialog.waitFor();
    await beforeDrawing(`document.querySelector("dialog").close(); press("${next}")`, "undefined");
    await open.dialog.waitFor();
    await open.isStill();
    expect(await open.dialog.count()).toBe(1);
    await press("Escape");
    await open.dialog.waitFor({ state: "detached" });
  });

  it("keys no longer act on the session that the reader has just left", async () => {
    await press("G");
    await isSelected(COUNT);
    const leave = `await new Promise((resolve) => {
      addEventListener("hashchange", resolve, { once: true });
      location.hash = "#/session/empty";
    })`;
    await beforeDrawing(leave, 'press("f")');
    await open.isLive();
    await open.page.getByText("No messages yet").waitFor();
    expect(await open.dialog.count()).toBe(0);
  });

  it("y copies a link to the message", async () => {
    await press("g");
    await press("j");
    await isSelected(1);
    await press("y");
    await open.toast("The link is copied").waitFor();
    expect(await open.page.evaluate("navigator.clipboard.readText()")).toBe(`${server.httpUrl}/#/session/s?m=m1`);
  });

  it("o opens and closes the outline", async () => {
    const outline = open.page.getByRole("complementary", { name: "Outline" });
    const wasOpen = (await outline.count()) === 1;
    await press("o");
    await outline.waitFor({ state: wasOpen ? "detached" : "visible" });
    await press("o");
    await outline.waitFor({ state: wasOpen ? "visible" : "detached" });
  });

  it("? shows all keys that the documentation names", async () => {
    await press("?");
    await open.dialog.waitFor();
    const shown = await open.dialog.locator("kbd").allTextContents();
    expect(shown).toEqual(["j", "k", "g", "G", "/", "s", "t", "e", "r", "f", "y", "o", "?", "Esc"]);
    await press("Escape");
    await open.dialog.waitFor({ state: "detached" });
  });

  it("keys do nothing while the user types, or together with Ctrl", async () => {
    await press("/");
    await open.page.keyboard.type("fjot?");
    expect(await open.dialog.count()).toBe(0);
    await press("Escape");
    await press("Control+f");
    expect(await open.dialog.count()).toBe(0);
  });

  it("arrows move through the menu, and closing it returns the focus", async () => {
    const button = open.page.getByRole("button", { name: "Actions", exact: true });
    await button.focus();
    await press("Enter");
    await expect.poll(focus).toBe("Rename");
    await press("ArrowUp");
    await expect.poll(focus).toBe("Delete");
    await press("ArrowDown");
    await press("ArrowDown");
    await expect.poll(focus).toBe("Labels");
    await press("Escape");
    await expect.poll(focus).toBe("Actions");
    await press("Enter");
    await expect.poll(focus).toBe("Rename");
    await press("Enter");
    await open.dialog.waitFor();
    await press("Escape");
    await open.dialog.waitFor({ state: "detached" });
    await expect.poll(focus).toBe("Actions");
  });

  it("the focus is visible on every element", async () => {
    await open.goTo("/session/s");
    await open.isLive();
    const seen = new Set<string>();
    for (let i = 0; i < 40; i++) {
      await press("Tab");
      const [name, outline] = (await open.page.evaluate(`(() => {
        const one = document.activeElement;
        const { outlineStyle, outlineWidth } = getComputedStyle(one);
        return [one.tagName + " " + (one.getAttribute("aria-label") ?? one.textContent), outlineStyle + " " + outlineWidth];
      })()`)) as [string, string];
      if (name.startsWith("BODY")) continue;
      seen.add(name);
      expect({ name, outline }).toEqual({ name, outline: "solid 2px" });
    }
    expect(seen.size).toBeGreaterThan(10);
  });
});
