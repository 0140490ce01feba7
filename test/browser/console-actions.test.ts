import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { builtPages } from "../support/console-pages.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith } from "../support/toolchain.js";
import { DESKTOP, findBrowser, PHONE } from "./browser.js";
import { type Answer, ConsolePage, callRest, jsonLines, textMessage } from "./console-page.js";

const TEXTS = ["Why does the import fail?", "I will look.", "Anything new?", "A column was added."];

await describeWith("the actions of the console", findBrowser, (browserPath) => {
  let server: TestServer;

  beforeAll(async () => {
    server = await startTestServer({}, undefined, await builtPages());
  });

  afterAll(() => server.stop());

  const call = (method: string, path: string, body?: unknown): Promise<Answer> =>
    callRest(server.httpUrl, method, path, body);

  describe.each([
    ["phone", PHONE],
    ["desktop", DESKTOP],
  ])("on a %s", (screenName, screen) => {
    let open: ConsolePage;
    let sessions = 0;
    /** Each test has its own session with four messages, open in the console. */
    let id = "";

    beforeAll(async () => {
      open = await ConsolePage.open(browserPath, server.httpUrl, screen);
    });

    afterAll(async () => {
      await open.close();
      expect(open.problems).toEqual([]);
    });

    beforeEach(async () => {
      sessions += 1;
      id = `import-${screenName}-${sessions}`;
      await call("POST", "/session", { sessionId: id, title: "Nightly import" });
      const messages = TEXTS.map((text, i) => textMessage(`m${i}`, i % 2 === 0 ? "user" : "assistant", text));
      await call("POST", `/session/${id}/message:batch`, { messages });
      await open.showSession(id);
      await open.message(3).waitFor();
    });

    const textsOf = async (sessionId: string): Promise<string[]> =>
      (await call("GET", `/session/${sessionId}/message`)).messages.map(({ parts }: Answer) => parts[0].text);
    const picture = (name: string) => open.picture(`${screenName}-${name}`);

    it("Fork here opens a session with the messages up to there, and offers to go back", async () => {
      await open.useTool(1, "Fork here");
      await picture("fork");
      await open.expectNoSideways();
      // What is typed replaces the title of the parent.
      await open.page.keyboard.type("Another way");
      await open.confirm("Fork");
      await open.page.getByRole("heading", { name: "Another way", level: 1, exact: true }).waitFor();
      await open.page.getByText("Forked here from").waitFor();
      const forkId = decodeURIComponent(/session\/([^?]+)/.exec(open.page.url())?.[1] ?? "");
      await open.toast("This is the fork").getByRole("button", { name: "Back" }).click();
      expect(await textsOf(forkId)).toEqual(TEXTS.slice(0, 2));
      expect(await call("GET", `/session/${forkId}`)).toMatchObject({ parentId: id, forkPointId: "m1" });
      expect(await textsOf(id)).toEqual(TEXTS);
      await open.page.getByRole("heading", { name: "Nightly import", level: 1 }).waitFor();
      await open.page.locator(".child-forks").getByRole("link", { name: "Another way" }).waitFor();
    });

    it("Fork takes all messages", async () => {
      await open.useMenu("Fork");
      await open.dialog.getByLabel("Title of the fork").fill("All of it");
      await open.confirm("Fork");
      await open.page.getByRole("heading", { name: "All of it", level: 1 }).waitFor();
      const { sessions: forks } = await call("GET", `/session?parent_id=${id}`);
      expect(await textsOf(forks[0].sessionId)).toEqual(TEXTS);
    });

    it("Revert to here removes what follows, and Unrevert restores it", async () => {
      await open.useTool(1, "Revert to here");
      await open.dialog.getByText("2 messages after this one will be reverted").waitFor();
      await open.confirm("Revert");
      await open.message(2).waitFor({ state: "detached" });
      expect(await textsOf(id)).toEqual(TEXTS.slice(0, 2));
      await open.toast("2 messages reverted").getByRole("button", { name: "Unrevert" }).click();
      await open.message(3).getByText("A column was added.").waitFor();
      expect(await textsOf(id)).toEqual(TEXTS);
      await open.page.getByRole("button", { name: "reverted: unrevert" }).waitFor({ state: "detached" });
    });

    it("the note of a revert goes away after an unrevert from elsewhere", async () => {
      await open.useTool(1, "Revert to here");
      await open.confirm("Revert");
      await open.toast("2 messages reverted").waitFor();
      await picture("reverted");
      await open.page.getByRole("button", { name: "reverted: unrevert" }).click();
      await open.toast("2 messages restored").waitFor();
      expect(await open.toast("2 messages reverted").count()).toBe(0);
    });

    it("a dialog leaves no note behind it", async () => {
      await open.useTool(2, "Copy a link to this message");
      await open.toast("The link is copied").waitFor();
      await open.useMenu("Labels");
      await open.dialog.waitFor();
      await open.toast("The link is copied").waitFor({ state: "detached" });
      await open.dismiss();
    });

    it("Revert to here removes no message that came after the question, and asks again", async () => {
      await open.useTool(1, "Revert to here");
      await open.dialog.getByText("2 messages after this one will be reverted").waitFor();
      await call("POST", `/session/${id}/message`, textMessage("m4", "user", "One more"));
      await open.dialog.getByRole("button", { name: "Revert", exact: true }).click();
      await open.dialog.getByText("Now 3 messages after this one will be reverted").waitFor();
      expect(await textsOf(id)).toEqual([...TEXTS, "One more"]);
      await open.confirm("Revert");
      expect(await textsOf(id)).toEqual(TEXTS.slice(0, 2));
    });

    it("a call that was running when its message was finished has never ended", async () => {
      const running = { tool: "bash", callID: "c", state: { status: "running", input: { command: "sleep" } } };
      const parts = [{ type: "tool", data: running }];
      await call("POST", `/session/${id}/message`, { info: { id: "m4", role: "assistant" }, parts });
      await open.message(4).getByText("never ended").waitFor();
      await call("POST", `/session/${id}/draft`, { message: { info: { id: "d", role: "assistant" }, parts } });
      await open.page.locator("[data-draft=d]").getByText("running", { exact: true }).waitFor();
    });

    it("an unrevert is still possible from the header after the page was loaded again", async () => {
      await call("POST", `/session/${id}/revert`, { upToMessageId: "m0" });
      await open.openSession(id);
      await open.page.getByRole("button", { name: "reverted: unrevert" }).click();
      await open.message(3).waitFor();
      expect(await textsOf(id)).toEqual(TEXTS);
    });

    it("Revert to here says that nothing follows the last message", async () => {
      await open.useTool(3, "Revert to here");
      await open.toast("there is nothing after it to revert").waitFor();
      expect(await open.dialog.count()).toBe(0);
    });

    it("Share makes a copy that does not change", async () => {
      await open.useMenu("Share");
      await open.confirm("Make a copy");
      await open.toast("Shared as").getByRole("button", { name: "Open" }).click();
      await open.page.getByText("fork of Nightly import").waitFor();
      const sharedId = decodeURIComponent(/session\/([^?]+)/.exec(open.page.url())?.[1] ?? "");
      await call("POST", `/session/${id}/message`, textMessage("m4", "user", "Not in the copy"));
      expect(await textsOf(sharedId)).toEqual(TEXTS);
    });

    it("Share says which flag the server lacks for links", async () => {
      await open.useMenu("Share");
      await open.dialog.getByRole("button", { name: "Create a link" }).click();
      await open.dialog.getByText("started without --ticket-secret-file").waitFor();
      expect(await open.dialog.getByRole("alert").count()).toBe(0);
      await open.dismiss();
    });

    it("Rename changes the title in the header, the tab, the list and the service", async () => {
      await open.useMenu("Rename");
      await open.dialog.getByLabel("Title").fill("Import of orders");
      await open.page.keyboard.press("Enter");
      await open.page.getByRole("heading", { name: "Import of orders", level: 1 }).waitFor();
      await expect.poll(() => open.page.title()).toBe("Import of orders · session-pool");
      expect(await call("GET", `/session/${id}`)).toMatchObject({ title: "Import of orders" });
      if (screenName === "phone") await open.goTo("/");
      const list = open.page.getByRole("navigation", { name: "Sessions" });
      await list.locator(`a[href="#/session/${id}"]`).getByText("Import of orders", { exact: true }).waitFor();
    });

    it("Labels are replaced, filter the list, and are refused when they are malformed", async () => {
      await open.useMenu("Labels");
      const field = open.dialog.getByRole("textbox", { name: "Labels" });
      await field.fill(`team=ops\nrun=${id}`);
      await open.confirm("Save");
      expect(await call("GET", `/session/${id}`)).toMatchObject({ labels: { team: "ops", run: id } });
      await open.useMenu("Labels");
      await expect.poll(() => field.inputValue()).toBe(`run=${id}\nteam=ops`);
      await field.fill("=x");
      await open.dialog.getByRole("button", { name: "Save" }).click();
      await open.dialog.getByRole("alert").waitFor();
      await picture("label-refused");
      await field.fill(`run=${id}`);
      await open.confirm("Save");
      expect((await call("GET", `/session/${id}`)).labels).toEqual({ run: id });
      if (screenName === "phone") await open.goTo("/");
      await open.page.getByLabel("Filter sessions").fill(`run=${id}`);
      await expect.poll(() => open.page.locator(".session-item").count()).toBe(1);
      await open.page.getByLabel("Filter sessions").fill("");
    });

    it("Delete asks first, and then leaves the session", async () => {
      await open.useMenu("Delete");
      await open.dismiss();
      expect(await call("GET", `/session/${id}`)).toMatchObject({ sessionId: id });
      await open.useMenu("Delete");
      await open.confirm("Delete");
      await open.toast("“Nightly import” is deleted").waitFor();
      expect(new URL(open.page.url()).hash).toBe("#/");
      expect((await fetch(`${server.httpUrl}/session/${id}`)).status).toBe(404);
      await open.page.locator(`a[href="#/session/${id}"]`).first().waitFor({ state: "detached" });
    });

    it("a permalink leads to its message, even after earlier messages were deleted", async () => {
      await open.useTool(2, "Copy a link to this message");
      await open.toast("The link is copied").waitFor();
      const link: string = await open.page.evaluate("navigator.clipboard.readText()");
      expect(link).toBe(`${server.httpUrl}/#/session/${id}?m=m2`);
      await call("DELETE", `/session/${id}/message/m0`);
      await open.page.goto("about:blank");
      await open.page.goto(link);
      await open.page.locator('article[data-id="m2"][data-position="1"][aria-current="true"]').waitFor();
    });

    it.each(["JSON lines", "Markdown"])("Export saves every message as %s", async (format) => {
      await open.useMenu("Export");
      const saving = open.page.waitForEvent("download");
      await open.dialog.getByRole("button", { name: format }).click();
      const download = await saving;
      await open.toast("4 messages are saved").waitFor();
      const saved = await readFile(await download.path(), "utf8");
      if (format === "Markdown") {
        expect(download.suggestedFilename()).toBe(`${id}.md`);
        for (const text of TEXTS) expect(saved).toContain(text);
        return;
      }
      expect(download.suggestedFilename()).toBe(`${id}.jsonl`);
      const [, { session }, ...lines] = jsonLines(saved);
      expect(session).toMatchObject({ sessionId: id, messages: [[1, 4]] });
      const { messages } = await call("GET", `/session/${id}/message`);
      expect(lines.slice(0, -1).map(({ message }) => message)).toMatchObject(
        messages.map(({ info: { id, role }, parts }: Answer) => ({ id, role, parts })),
      );
      expect(lines.at(-1)).toEqual({ todos: [] });
    });

    it("an edit gives a message new text, and can be undone", async () => {
      await open.useTool(1, "Edit this message");
      await open.dialog.getByLabel("Text", { exact: true }).fill("I have **looked**.");
      await picture("edit");
      await open.expectNoSideways();
      await open.confirm("Save");
      await open.message(1).getByText("I have looked.").waitFor();
      expect(await textsOf(id)).toEqual([TEXTS[0], "I have **looked**.", TEXTS[2], TEXTS[3]]);
      await open.toast("Message #1 is changed").getByRole("button", { name: "Undo" }).click();
      await open.message(1).getByText("I will look.").waitFor();
      expect(await textsOf(id)).toEqual(TEXTS);
    });

    it("an edit changes any part as JSON, and says when the JSON is malformed", async () => {
      const tool = { type: "tool_use", data: { id: "t1", name: "bash", input: { command: "ls" } } };
      await call("POST", `/session/${id}/message`, { info: { id: "m4", role: "assistant" }, parts: [tool] });
      await open.message(4).waitFor();
      await open.useTool(4, "Edit this message");
      const field = open.dialog.getByLabel("Parts as JSON");
      await field.fill("[{");
      await open.dialog.getByRole("button", { name: "Save" }).click();
      await open.dialog.getByRole("alert").getByText("This is not JSON").waitFor();
      await field.fill(JSON.stringify([{ ...tool, data: { ...tool.data, input: { command: "ls -l logs" } } }]));
      await open.confirm("Save");
      await open.message(4).getByText("ls -l logs").first().waitFor();
      const { parts } = await call("GET", `/session/${id}/message/m4`);
      expect(parts[0].data.input).toEqual({ command: "ls -l logs" });
    });

    it("an edit shows what somebody else has changed, and overwrites it only when told to", async () => {
      const elsewhere = (text: string) =>
        call("PATCH", `/session/${id}/message/m1?update_mask=parts`, { parts: [{ type: "text", text }] });
      await open.useTool(1, "Edit this message");
      const field = open.dialog.getByLabel("Text", { exact: true });
      await field.fill("Mine");
      await elsewhere("Theirs");
      await open.dialog.getByRole("button", { name: "Save" }).click();
      await open.dialog.getByRole("alert").getByText("Theirs", { exact: true }).waitFor();
      await picture("edit-conflict");
      expect((await textsOf(id))[1]).toBe("Theirs");
      await open.dialog.getByRole("button", { name: "Drop mine" }).click();
      await expect.poll(() => field.inputValue()).toBe("Theirs");
      await field.fill("Mine again");
      await elsewhere("Theirs again");
      await open.dialog.getByRole("button", { name: "Save" }).click();
      await open.dialog.getByRole("alert").getByText("Theirs again").waitFor();
      await open.confirm("Save mine over it");
      expect((await textsOf(id))[1]).toBe("Mine again");
      await open.message(1).getByText("Mine again").waitFor();
    });

    it("an edit is saved although the session was changed in another way", async () => {
      await open.useTool(1, "Edit this message");
      await open.dialog.getByLabel("Text", { exact: true }).fill("Mine");
      await call("PATCH", `/session/${id}`, { title: "Renamed meanwhile" });
      await open.confirm("Save");
      expect((await textsOf(id))[1]).toBe("Mine");
      expect((await call("GET", `/session/${id}`)).title).toBe("Renamed meanwhile");
    });

    it("an edit reports that the message has been deleted", async () => {
      await open.useTool(1, "Edit this message");
      await open.dialog.getByLabel("Text", { exact: true }).fill("Mine");
      await call("DELETE", `/session/${id}/message/m1`);
      await open.dialog.getByRole("button", { name: "Save" }).click();
      await open.dialog.getByRole("alert").getByText("not found").waitFor();
      await open.page.keyboard.press("Escape");
    });

    it("deleting a message moves up the messages after it, and forks keep the message", async () => {
      const { session } = await call("POST", `/session/${id}/fork`, {});
      await open.useTool(1, "Delete this message");
      await open.confirm("Delete");
      await open.toast("Message #1 is deleted").waitFor();
      await open.message(1).getByText("Anything new?").waitFor();
      await open.message(3).waitFor({ state: "detached" });
      expect(await textsOf(id)).toEqual([TEXTS[0], TEXTS[2], TEXTS[3]]);
      expect(await textsOf(session.sessionId)).toEqual(TEXTS);
    });

    it("Erase asks for its word to be typed, and erases the message in every fork", async () => {
      const { session } = await call("POST", `/session/${id}/fork`, {});
      await open.useTool(1, "Erase this message everywhere");
      const button = open.dialog.getByRole("button", { name: "Erase", exact: true });
      expect(await button.isDisabled()).toBe(true);
      await open.dialog.getByLabel("Type erase to go on").fill("eras");
      expect(await button.isDisabled()).toBe(true);
      await picture("erase");
      await open.expectNoSideways();
      await open.dialog.getByLabel("Type erase to go on").fill("erase");
      await open.confirm("Erase");
      await open.message(1).getByText("The content of this message was erased").waitFor();
      for (const sessionId of [id, session.sessionId]) {
        const { parts } = await call("GET", `/session/${sessionId}/message/m1`);
        expect(parts.map(({ type }: Answer) => type)).toEqual(["erased"]);
      }
    });

    it("the outline and the result of a call show what was changed elsewhere", async () => {
      const messages = [
        { info: { id: "t0", role: "assistant" }, parts: [{ type: "tool_use", data: { id: "c1", name: "bash" } }] },
        {
          info: { id: "t1", role: "user" },
          parts: [{ type: "tool_result", data: { tool_use_id: "c1", content: "secret.txt" } }],
        },
      ];
      await call("POST", `/session/${id}/message:batch`, { messages });
      await open.message(4).locator("[aria-expanded=false]").click();
      await open.message(4).getByText("secret.txt").waitFor();
      await call("POST", `/session/${id}/message/t1:erase`, {});
      await open.message(4).getByText("secret.txt").waitFor({ state: "detached" });

      const outline = open.page.getByRole("complementary");
      if (screenName === "phone") await open.page.keyboard.press("o");
      await outline.getByText(TEXTS[0]!).waitFor();
      await call("PATCH", `/session/${id}/message/m0?update_mask=parts`, {
        parts: [{ type: "text", text: "Why not?" }],
      });
      await outline.getByText("Why not?").waitFor();
      if (screenName === "phone") await open.page.keyboard.press("o");
    });

    it("discarding a draft asks first", async () => {
      await call("POST", `/session/${id}/draft`, { message: { info: { id: "d1", role: "assistant" } } });
      const draft = open.page.locator('article[data-draft="d1"]');
      await draft.getByRole("button", { name: "Discard" }).click();
      await open.confirm("Discard");
      await draft.waitFor({ state: "detached" });
      expect((await call("GET", `/session/${id}/draft`)).drafts).toEqual([]);
      expect(await textsOf(id)).toEqual(TEXTS);
    });

    it("a dialog reports that the service has refused its action", async () => {
      await open.useTool(1, "Fork here");
      await call("DELETE", `/session/${id}`);
      await open.dialog.getByRole("button", { name: "Fork", exact: true }).click();
      await open.dialog.getByRole("alert").getByText("not found").waitFor();
      await open.page.keyboard.press("Escape");
      // The browser itself logs every error response.
      open.problems.splice(0);
    });
  });
});
