import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { builtPages } from "../support/console-pages.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith } from "../support/toolchain.js";
import { DESKTOP, findBrowser, PHONE } from "./browser.js";
import { type Answer, ConsolePage, callRest, jsonLines, textMessage } from "./console-page.js";

/** More than the table reads at first, so that all that match are more than those shown. */
const SESSIONS = 120;

await describeWith("actions on many sessions, and feedback on messages", findBrowser, (browserPath) => {
  let server: TestServer;
  const call = (method: string, path: string, body?: unknown): Promise<Answer> =>
    callRest(server.httpUrl, method, path, body);

  beforeAll(async () => {
    server = await startTestServer({}, undefined, await builtPages());
    for (let i = 0; i < SESSIONS; i++) {
      const labels = { kept: "yes", ...(i === 0 && { team: "old" }) };
      await call("POST", "/session", {
        sessionId: `s${i}`,
        title: `Number ${i}`,
        owner: i < 3 ? "ada" : "eve",
        labels,
      });
      await call("POST", `/session/s${i}/message`, textMessage(`m${i}`, "user", `Question ${i}`));
    }
  });

  afterAll(() => server.stop());

  const labelsOf = async (sessionId: string) => (await call("GET", `/session/${sessionId}`)).labels;

  describe.each([
    ["phone", PHONE],
    ["desktop", DESKTOP],
  ])("on a %s", (screenName, screen) => {
    let open: ConsolePage;

    beforeAll(async () => {
      open = await ConsolePage.open(browserPath, server.httpUrl, screen);
    });

    afterAll(async () => {
      await open.close();
      expect(open.problems).toEqual([]);
    });

    const press = (name: string) => open.page.getByRole("button", { name, exact: true }).click();
    const choose = (title: string) => open.page.getByLabel(`Choose ${title}`, { exact: true }).click();
    /** Without the box in the head of the table, which is not shown on a phone. */
    const chooseShown = async () => {
      await open.page.locator("tbody").getByRole("checkbox").first().click();
      await press("Choose all that are shown");
    };

    describe("in the table", () => {
      const showAll = async () => {
        await open.goTo("/sessions?labels=kept%3Dyes");
        await open.page.getByText(`${SESSIONS} sessions, 100 of them shown`).waitFor();
      };

      it("labels those that are chosen, keeps their other labels, and undoes it", async () => {
        await open.goTo("/sessions?owner=ada");
        await open.page.getByText("3 sessions", { exact: true }).waitFor();
        await choose("Number 0");
        await choose("Number 1");
        await open.page.getByText("2 sessions chosen.").waitFor();
        await press("Label");
        await open.dialog.getByRole("heading", { name: "Label 2 sessions" }).waitFor();
        await open.dialog.getByRole("textbox").fill("team=new\nseen");
        await open.confirm("Label them");
        const undo = open.toast("2 sessions labelled").getByRole("button", { name: "Undo" });
        await undo.waitFor();
        expect(await labelsOf("s0")).toEqual({ kept: "yes", team: "new", seen: "" });
        expect(await labelsOf("s1")).toEqual({ kept: "yes", team: "new", seen: "" });
        expect(await labelsOf("s2")).toEqual({ kept: "yes" });
        await undo.click();
        await open.toast("2 sessions labelled as before").waitFor();
        await open.picture(`${screenName}-bulk-labelled`);
        expect(await labelsOf("s0")).toEqual({ kept: "yes", team: "old" });
        expect(await labelsOf("s1")).toEqual({ kept: "yes" });
      });

      it("counts all that match before it asks, and leaves them alone when the reader steps back", async () => {
        await showAll();
        await chooseShown();
        await open.page.getByText("100 sessions chosen.").waitFor();
        await press("Choose all that match, not only those shown");
        await open.page.getByText(`All ${SESSIONS} sessions that match are chosen.`).waitFor();
        await press("Label");
        await open.dialog.getByRole("heading", { name: `Label ${SESSIONS} sessions` }).waitFor();
        await open.dismiss();
        await press("Choose none");
        await open.page.getByText(`${SESSIONS} sessions, 100 of them shown`).waitFor();
        expect(await labelsOf("s5")).toEqual({ kept: "yes" });
      });

      it("exports all that match as one file, after it has said how many there are", async () => {
        await open.goTo("/sessions?owner=ada");
        await open.page.getByText("3 sessions", { exact: true }).waitFor();
        await chooseShown();
        await press("Export");
        await open.dialog.getByRole("heading", { name: "Export 3 sessions?" }).waitFor();
        const saving = open.page.waitForEvent("download");
        await open.confirm("Save the file");
        const saved = await saving;
        await open.toast("3 sessions with 3 messages saved").waitFor();
        const lines = await linesOf(saved);
        expect(lines[0]).toMatchObject({ format: "session-pool" });
        const sessions = lines.flatMap(({ session }) => session ?? []);
        expect(sessions.map(({ sessionId }) => sessionId).sort()).toEqual(["s0", "s1", "s2"]);
        expect(lines.flatMap(({ message }) => message?.id ?? []).sort()).toEqual(["m0", "m1", "m2"]);
      });

      it("orders what it has read by numbers, and says when there is more", async () => {
        await call("POST", "/session/s7/message", textMessage(`more-${screenName}`, "user", "More"));
        await showAll();
        await open.page.getByLabel("Order").selectOption("messages");
        await expect.poll(() => open.page.locator("table.sessions tbody tr").first().innerText()).toContain("Number 7");
        await open.page.getByText(`${SESSIONS} sessions`, { exact: true }).waitFor();
        expect(open.page.url()).toContain("order=messages");
        await open.expectNoSideways();
      });
    });

    describe("in a session", () => {
      const id = `feedback-${screenName}`;
      const annotations = async () => (await call("GET", `/session/${id}/annotation`)).annotations ?? [];
      const notes = () => open.page.getByRole("list", { name: "Notes on message 1" });

      beforeAll(async () => {
        await call("POST", "/session", { sessionId: id, title: "Rated" });
        const messages: readonly [id: string, role: string, text: string][] = [
          ["q1", "user", "Where to?"],
          ["a1", "assistant", "Lisbon"],
          ["q2", "user", "And then?"],
          ["a2", "assistant", "Porto"],
        ];
        for (const message of messages) await call("POST", `/session/${id}/message`, textMessage(...message));
      });

      beforeEach(async () => {
        for (const { annotationId } of await annotations()) {
          await call("DELETE", `/session/${id}/annotation/${annotationId}`);
        }
        await open.openSession(id);
        await open.message(3).waitFor();
      });

      it("gives a thumb, turns it, and takes it back", async () => {
        const thumbs = async () => (await annotations()).map(({ thumb }: Answer) => thumb);
        await open.useTool(1, "Good");
        await expect.poll(thumbs).toEqual(["up"]);
        await notes().getByText("Good:").waitFor();
        await open.message(1).getByRole("button", { name: "Bad", exact: true }).click();
        await expect.poll(thumbs).toEqual(["down"]);
        await notes().getByText("Bad:").waitFor();
        await open.message(1).getByRole("button", { name: "Bad", exact: true }).click();
        await expect.poll(thumbs).toEqual([]);
        await notes().waitFor({ state: "detached" });
      });

      it("offers to say why, right after a thumb, which is saved without it", async () => {
        const { page } = open;
        const said = async () => (await annotations()).map(({ thumb, text }: Answer) => [thumb, text ?? ""]);
        const why = (thumb: string) => page.getByLabel(`Why is this ${thumb}? Optional`);
        await open.useTool(1, "Bad");
        await why("bad").waitFor();
        await page.getByRole("status").getByText("Saved as bad.").waitFor();
        await expect.poll(said).toEqual([["down", ""]]);
        // Nothing has moved the focus, so that the keys of the page still work.
        expect(await page.evaluate("document.activeElement?.matches('input')")).toBe(false);
        await open.picture(`${screenName}-why`);
        await page.getByRole("button", { name: "No, thanks" }).click();
        await why("bad").waitFor({ state: "detached" });
        await open.useTool(1, "Good");
        await why("good").fill("Short and right.");
        await open.message(1).getByRole("button", { name: "Save", exact: true }).click();
        await notes().getByText("Short and right.").waitFor();
        await why("good").waitFor({ state: "detached" });
        expect(await said()).toEqual([["up", "Short and right."]]);
      });

      it("lets somebody type the reason who has given the thumb by a key", async () => {
        const { page } = open;
        for (let at = 0; at <= 2; at++) await page.keyboard.press("j");
        await open.message(2).getByRole("button", { name: "Bad", exact: true }).press("Enter");
        await page.getByLabel("Why is this bad?").waitFor();
        await page.keyboard.type("No source");
        await page.keyboard.press("Enter");
        await open.message(2).locator(".note-said").getByText("No source").waitFor();
        await page.keyboard.press("j");
        await page.locator('article[data-position="3"][aria-current]').waitFor();
        await open.message(3).getByRole("button", { name: "Good", exact: true }).press("Enter");
        await page.getByLabel("Why is this good?").waitFor();
        await page.keyboard.press("Escape");
        await page.getByLabel("Why is this good?").waitFor({ state: "detached" });
        await page.keyboard.press("k");
        await page.locator('article[data-position="2"][aria-current]').waitFor();
      });

      it("writes a note, changes it, deletes it and undoes that; the message stays as it was", async () => {
        const { revision } = await call("GET", `/session/${id}/message/a1`).then(({ info }) => info);
        await open.useTool(1, "Add a note");
        await open.dialog.getByLabel("Good").check();
        await open.dialog.getByLabel("Text").fill("Right, but short.");
        await open.dialog.getByLabel("Who says it").fill("grace");
        await open.confirm("Save");
        await notes().getByText("Right, but short.").waitFor();
        await notes().getByText("grace").waitFor();
        await open.picture(`${screenName}-note`);
        await notes().hover();
        await notes().getByRole("button", { name: "Change the note" }).click();
        await open.dialog.getByLabel("Text").fill("Right.");
        await open.confirm("Save");
        await notes().getByText("Right.", { exact: true }).waitFor();
        expect(await annotations()).toMatchObject([{ messageId: "a1", text: "Right.", author: "grace" }]);
        await notes().hover();
        await notes().getByRole("button", { name: "Delete the note" }).click();
        await notes().waitFor({ state: "detached" });
        expect(await annotations()).toEqual([]);
        await open.toast("The note is deleted").getByRole("button", { name: "Undo" }).click();
        await notes().getByText("Right.", { exact: true }).waitFor();
        expect((await call("GET", `/session/${id}/message/a1`)).info.revision).toBe(revision);
      });

      it("lists feedback in the outline and finds its words in the search, and leads to the messages", async () => {
        await call("POST", `/session/${id}/annotation`, {
          messageId: "a1",
          thumb: "up",
          text: "Right.",
          author: "ada",
        });
        await call("POST", `/session/${id}/annotation`, { messageId: "a2", thumb: "down", author: "grace" });
        await open.openSession(id);
        await open.page.locator(".notes").first().waitFor();
        const openPanel = async (name: string) => {
          const button = open.page.locator(".session-tools").getByRole("button", { name, exact: true });
          if ((await button.getAttribute("aria-pressed")) !== "true") await button.click();
        };
        const feedback = open.page.getByRole("complementary").getByRole("region", { name: "Feedback" });
        await openPanel("Outline");
        await feedback.getByRole("link", { name: "Bad grace" }).waitFor();
        await open.picture(`${screenName}-feedback`);
        await feedback.getByRole("link", { name: "Right. ada" }).click();
        await open.page.locator('article[data-id="a1"][aria-current]').waitFor();
        await openPanel("Search in this session");
        await open.page.getByLabel("Search in this session").last().fill("GRACE");
        await expect.poll(() => feedback.getByRole("link").count()).toBe(1);
        await feedback.getByRole("link", { name: "Bad grace" }).click();
        await open.page.locator('article[data-id="a2"][aria-current]').waitFor();
        if (screenName === "desktop") await openPanel("Outline");
      });

      it("saves a data set of the messages with a thumb up", async () => {
        await call("POST", `/session/${id}/annotation`, {
          ...{ messageId: "a1", thumb: "up", text: "Right.", author: "ada" },
        });
        await call("POST", `/session/${id}/annotation`, { messageId: "a2", thumb: "down", author: "ada" });
        const [{ createTime: time }] = await annotations();
        await open.openSession(id);
        await open.page.locator(".notes").first().waitFor();
        await open.useMenu("Export");
        await open.dialog.getByRole("button", { name: "Data set…" }).click();
        const up = open.dialog.getByLabel("Messages with a thumb up (1)", { exact: true });
        expect(await up.isChecked()).toBe(true);
        await open.dialog.getByText("Messages with a thumb or a note (2)").waitFor();
        await open.picture(`${screenName}-data-set`);
        const saving = open.page.waitForEvent("download");
        await open.dialog.getByRole("button", { name: "Save" }).click();
        const saved = await saving;
        await open.toast("1 example saved").waitFor();
        const lines = await linesOf(saved);
        expect(lines).toEqual([
          {
            messages: [
              { role: "user", content: "Where to?" },
              { role: "assistant", content: "Lisbon" },
            ],
            metadata: {
              session_id: id,
              message_id: "a1",
              feedback: [{ thumb: "up", text: "Right.", author: "ada", time }],
            },
          },
        ]);
      });

      it("saves a data set of all answers, each with the request before it", async () => {
        await open.useMenu("Export");
        await open.dialog.getByRole("button", { name: "Data set…" }).click();
        // Without feedback, it is what is chosen already.
        expect(await open.dialog.getByLabel("All answers of the assistant").isChecked()).toBe(true);
        await open.dialog.getByLabel("The request that it answers").check();
        const saving = open.page.waitForEvent("download");
        await open.dialog.getByRole("button", { name: "Save" }).click();
        const lines = await linesOf(await saving);
        expect(lines.map(({ messages }) => messages.map(({ content }: Answer) => content))).toEqual([
          ["Where to?", "Lisbon"],
          ["And then?", "Porto"],
        ]);
      });

      it("says so when no message is chosen for a data set", async () => {
        await open.useMenu("Export");
        await open.dialog.getByRole("button", { name: "Data set…" }).click();
        await open.dialog.getByLabel("Messages with a thumb up").check();
        await open.dialog.getByRole("button", { name: "Save" }).click();
        await open.dialog.getByText("No message is chosen by that").waitFor();
        await open.dismiss();
      });
    });
  });
});

interface Saved {
  path(): Promise<string>;
}

/** The JSON Lines of a file that the page has saved. */
async function linesOf(download: Saved): Promise<readonly Answer[]> {
  return jsonLines(await readFile(await download.path(), "utf8"));
}
