import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { importSessions } from "../../src/commands/transfer/import-sessions.js";
import { withPools } from "../../src/commands/with-pools.js";
import { builtPages } from "../support/console-pages.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith } from "../support/toolchain.js";
import { DESKTOP, findBrowser, PHONE } from "./browser.js";
import { ConsolePage, callRest } from "./console-page.js";

await describeWith("files in the console", findBrowser, (browserPath) => {
  let server: TestServer;
  let console: ConsolePage;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "session-pool-files-"));
    server = await startTestServer({}, undefined, await builtPages());
    await callRest(server.httpUrl, "POST", "/session", { sessionId: "s", title: "With files" });
    await upload("picture", picture(64, 48), "image/png", "A picture.png");
    await upload("sound", Buffer.from("RIFF"), "audio/wav", "note.wav");
    await upload("page", Buffer.from("<script>document.title = 'taken over'</script>"), "text/html", "evil.html");
    const parts = ["picture", "sound", "page"].map((attachmentId) => ({ type: "file", attachment: { attachmentId } }));
    const text = { type: "text", text: "Look at these" };
    await callRest(server.httpUrl, "POST", "/session/s/message", {
      info: { id: "m0", role: "user" },
      parts: [text, ...parts],
    });
  });
  beforeEach(async () => {
    console = await ConsolePage.open(browserPath, server.httpUrl, DESKTOP);
  });
  afterEach(async () => {
    const { problems } = console;
    await console.close();
    expect(problems).toEqual([]);
  });
  afterAll(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  async function upload(id: string, bytes: Uint8Array, type: string, name: string): Promise<void> {
    const query = new URLSearchParams({ attachment_id: id, name });
    const answer = await fetch(`${server.httpUrl}/session/s/attachment?${query}`, {
      method: "POST",
      headers: { "content-type": type },
      body: bytes as Uint8Array<ArrayBuffer>,
    });
    expect(answer.status).toBe(200);
  }

  it("are shown in their place: pictures, players, and files to save", async () => {
    await console.openSession("s");
    const message = console.message(0);
    await message.getByRole("img", { name: "A picture.png" }).waitFor();
    const drawn = `(() => { const img = document.querySelector("img.picture"); return [img.naturalWidth, img.naturalHeight, img.src.slice(0, 5)]; })()`;
    // A picture has a border, and so a place on the page, before its bytes are there.
    await expect.poll(() => console.page.evaluate(drawn)).toEqual([64, 48, "blob:"]);
    await message.getByRole("button", { name: "Play (4 bytes)" }).click();
    await message.locator("audio").waitFor();
    await expect
      .poll(() => message.locator(".file").allInnerTexts())
      .toEqual([
        expect.stringMatching(/^A picture\.png\s+image\/png · \d+ bytes\s+Save$/),
        expect.stringMatching(/^note\.wav\s+audio\/wav · 4 bytes\s+Save$/),
        expect.stringMatching(/^evil\.html\s+text\/html · 46 bytes\s+Save$/),
      ]);
    const saving = console.page.waitForEvent("download");
    await message.getByRole("button", { name: "Save evil.html" }).click();
    const saved = await saving;
    expect(saved.suggestedFilename()).toBe("evil.html");
    expect(await readFile(await saved.path(), "utf8")).toContain("taken over");
    expect(await console.page.title()).not.toContain("taken over");
    await console.picture("files");
  });

  it("are listed beside the session, with links to their messages", async () => {
    await console.openSession("s");
    await console.page.getByRole("button", { name: "Files", exact: true }).click();
    const panel = console.page.getByRole("complementary", { name: "Files" });
    await panel.locator("li").nth(2).waitFor();
    expect(await panel.locator("li").count()).toBe(3);
    await panel.locator("li").first().getByRole("link", { name: "message" }).click();
    await expect.poll(() => console.page.url()).toMatch(/[?](m=m0|at=0)/);
    await console.picture("files-panel");
  });

  it("are dropped on a session, arrive, and go with the next message", async () => {
    await callRest(server.httpUrl, "POST", "/session", { sessionId: "dropped" });
    await console.openSession("dropped");
    const dropped = await console.page.evaluateHandle(
      `(() => { const all = new DataTransfer(); all.items.add(new File(["one"], "one.txt", { type: "text/plain" })); all.items.add(new File(["two"], "two.txt")); return all; })()`,
    );
    await console.page.locator("main.conversation").dispatchEvent("drop", { dataTransfer: dropped });
    const composer = console.page.getByRole("form", { name: "Write a message" });
    await composer.getByRole("button", { name: "Remove two.txt" }).click();
    await expect.poll(() => composer.locator(".file").innerText()).toMatch(/one\.txt\s+3 bytes/);
    await composer.getByRole("textbox").fill("Here it is");
    await console.picture("files-unsent");
    await composer.getByRole("button", { name: "Send" }).click();
    await console.message(0).locator(".file").waitFor();
    const { messages } = await callRest(server.httpUrl, "GET", "/session/dropped/message");
    expect(messages[0].parts).toMatchObject([
      { type: "text", text: "Here it is" },
      { type: "file", attachment: { name: "one.txt", mediaType: "text/plain", size: "3" } },
    ]);
    await composer.waitFor({ state: "detached" });
  });

  it("that are refused say why, and can be sent again", async () => {
    await callRest(server.httpUrl, "POST", "/session", { sessionId: "refused" });
    await console.openSession("refused");
    await console.page.route("**/session/refused/attachment?*", (route) =>
      route.fulfill({ status: 400, json: { code: 3, message: "It is too large" } }),
    );
    const dropped = await console.page.evaluateHandle(
      `(() => { const all = new DataTransfer(); all.items.add(new File(["x"], "x.bin")); return all; })()`,
    );
    await console.page.locator("main.conversation").dispatchEvent("drop", { dataTransfer: dropped });
    const file = console.page.locator(".unsent-files .file");
    await file.getByText("Not sent. It is too large.").waitFor();
    expect(await console.page.getByRole("button", { name: "Send", exact: true }).isDisabled()).toBe(true);
    await console.page.unroute("**/session/refused/attachment?*");
    await file.getByRole("button", { name: "Send x.bin again" }).click();
    await file.getByText("1 byte").waitFor();
    // The browser logs the answer 400 that this test gave it.
    console.problems.length = 0;
  });

  it("are in the export, which can be imported", async () => {
    await console.openSession("s");
    const saving = console.page.waitForEvent("download");
    await console.useMenu("Export");
    await console.dialog.getByRole("button", { name: "JSON lines" }).click();
    const file = join(folder, "saved.jsonl");
    await (await saving).saveAs(file);
    const storage = `sqlite:${join(folder, "to.db")}`;
    await importSessions({ storage, namespace: "default" }, file);
    await withPools(storage, async (pools) => {
      const { pieces, attachment } = await pools.for("default").sessions.attachments.get("s", "picture");
      const hash = createHash("sha256");
      for await (const piece of pieces) hash.update(piece);
      expect(hash.digest("hex")).toBe(attachment.sha256);
    });
  });

  it("fit on a phone", async () => {
    await console.close();
    console = await ConsolePage.open(browserPath, server.httpUrl, PHONE);
    await console.openSession("s");
    await console.message(0).getByRole("img", { name: "A picture.png" }).waitFor();
    await console.expectNoSideways();
    await console.picture("files-phone");
  });
});

/** A PNG of one colour. */
function picture(width: number, height: number): Buffer {
  const line = Buffer.concat([Buffer.alloc(1), Buffer.alloc(width * 3, 0x60)]);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2], 8);
  const chunks = [
    ["IHDR", header],
    ["IDAT", deflateSync(Buffer.concat(Array(height).fill(line)))],
    ["IEND", Buffer.alloc(0)],
  ] as const;
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, ...chunks.map(([type, data]) => chunk(type, data))]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}

function crc32(bytes: Buffer): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let i = 0; i < 8; i++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}
