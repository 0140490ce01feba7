import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { poll } from "../support/poll.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith } from "../support/toolchain.js";
import { DESKTOP, findBrowser, openBrowser } from "./browser.js";

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
  "base64",
);

/** A second of silence. */
function wav(): Buffer {
  const head = Buffer.alloc(44);
  head.write("RIFF", 0);
  head.writeUInt32LE(36 + 8000, 4);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(8000, 24);
  head.writeUInt32LE(8000, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write("data", 36);
  head.writeUInt32LE(8000, 40);
  return Buffer.concat([head, Buffer.alloc(8000, 128)]);
}

await describeWith("attachments in a browser", findBrowser, (browserPath) => {
  let server: TestServer;
  let beacon: Server;
  let beaconUrl: string;
  let browser: BrowserContext;
  let page: Page;
  /** Whatever has run tells the beacon its name. */
  const hits: string[] = [];

  /** Attachments by id: type and content. Each would call the beacon if something of it ran. */
  const hostile = (): Readonly<Record<string, readonly [type: string, content: string]>> => {
    const script = (name: string) => `fetch("${beaconUrl}/hit/${name}", { mode: "no-cors" })`;
    const html = (name: string) =>
      `<!doctype html><script>${script(name)}</script><img src=x onerror='${script(name)}'><meta http-equiv=refresh content="0;url=${beaconUrl}/hit/${name}">`;
    const svg = (name: string) => `<svg xmlns="http://www.w3.org/2000/svg"><script>${script(name)}</script></svg>`;
    return {
      "page.html": ["text/html", html("page.html")],
      "params.html": ["Text/HTML; charset=utf-8", html("params.html")],
      "picture.svg": ["image/svg+xml", svg("picture.svg")],
      "xhtml.xml": ["application/xhtml+xml", svg("xhtml.xml").replace("2000/svg", "1999/xhtml")],
      "svg.xml": ["text/xml", svg("svg.xml")],
      "sniffed.txt": ["text/plain", html("sniffed.txt")],
      "sniffed.png": ["image/png", html("sniffed.png")],
      "sniffed.bin": ["application/octet-stream", html("sniffed.bin")],
      "unknown.x": ["x-unknown/y", html("unknown.x")],
      "code.js": ["text/javascript", script("code.js")],
      "code.json": ["application/json", script("code.json")],
      "code.txt": ["text/plain", script("code.txt")],
    };
  };

  const urlOf = (id: string) => `${server.httpUrl}/session/s/attachment/${id}`;

  async function upload(id: string, type: string, content: string | Buffer): Promise<void> {
    const url = `${server.httpUrl}/session/s/attachment?create_session=true&attachment_id=${id}&name=${id}`;
    const { status } = await fetch(url, { method: "POST", headers: { "content-type": type }, body: content });
    expect(status).toBe(200);
  }

  beforeAll(async () => {
    beacon = createServer((request, response) => {
      if (request.url?.startsWith("/hit/")) hits.push(request.url.slice("/hit/".length));
      response.setHeader("content-type", "text/html");
      response.end(request.url === "/frame" ? "" : '<script>fetch("/hit/control")</script>');
    }).listen(0, "127.0.0.1");
    await once(beacon, "listening");
    beaconUrl = `http://127.0.0.1:${(beacon.address() as AddressInfo).port}`;
    server = await startTestServer({ corsOrigins: [beaconUrl] });
    for (const [id, [type, content]] of Object.entries(hostile())) await upload(id, type, content);
    await upload("shown.png", "image/png", PNG);
    await upload("shown.wav", "audio/wav", wav());
    await upload("shown.txt", "text/plain", "Azaleas <b>bloom</b>");
    browser = await openBrowser(browserPath, DESKTOP);
    page = await browser.newPage();
    // A page of the service's own origin that permits everything, unlike the pages that the service has.
    await page.route(`${server.httpUrl}/permissive`, (route) =>
      route.fulfill({ contentType: "text/html", body: '<!doctype html><link rel="icon" href="data:,">' }),
    );
  });

  afterAll(async () => {
    await browser?.close();
    await server?.stop();
    beacon?.close();
  });

  /** Shows that what runs is noticed, and that what was begun before has had the time for it. */
  async function nothingRan(): Promise<void> {
    await page.goto(`${beaconUrl}/control`);
    await poll(() => hits.includes("control"), "the beacon was called");
    expect(hits.filter((one) => one !== "control")).toEqual([]);
    hits.length = 0;
  }

  it("run nothing when they are opened", async () => {
    for (const id of Object.keys(hostile())) {
      // What the browser saves instead of showing it ends the navigation.
      await page
        .goto(urlOf(id))
        .catch((error: unknown) => expect(String(error)).toMatch(/Download is starting|ABORTED/));
      await page.goto(`${server.httpUrl}/permissive`);
    }
    await nothingRan();
  });

  it.each(["/permissive", "other origin"])("run nothing in a page: %s", async (path) => {
    await page.goto(path === "/permissive" ? `${server.httpUrl}${path}` : `${beaconUrl}/host`);
    hits.length = 0;
    for (const id of Object.keys(hostile())) {
      const settled = await page.evaluate<string[]>(`(async () => {
        const url = ${JSON.stringify(urlOf(id))};
        const settled = [];
        const add = (tag, attributes, then) => {
          const element = Object.assign(document.createElement(tag), attributes);
          element.onload = () => then("loaded");
          element.onerror = () => then("failed");
          document.body.append(element);
        };
        const load = (tag, name, more) => new Promise((resolve) => {
          add(tag, { ...more, [name]: url }, (how) => resolve(settled.push(tag + " " + how)));
        });
        // What is saved instead of shown tells nothing, so a frame that is added after it tells that there was time.
        const frame = (tag, name) => new Promise((resolve) => {
          add(tag, { [name]: url }, () => {});
          add(tag, { [name]: ${JSON.stringify(`${beaconUrl}/frame`)} }, resolve);
        });
        await Promise.all([
          frame("iframe", "src"),
          frame("object", "data"),
          frame("embed", "src"),
          load("img", "src"),
          load("script", "src"),
          load("script", "src", { type: "module" }),
          load("link", "href", { rel: "stylesheet" }),
        ]);
        await import(url).then(() => settled.push("imported"), () => {});
        try {
          const worker = new Worker(url);
          await new Promise((resolve) => { worker.onerror = resolve; });
        } catch {}
        await navigator.serviceWorker?.register(url).then(() => settled.push("registered"), () => {});
        return settled;
      })()`);
      expect(
        settled.filter((one) => /script loaded|link loaded|imported|registered/.test(one)),
        id,
      ).toEqual([]);
    }
    await nothingRan();
  });

  it("are saved under their own name, unless they only show something", async () => {
    await page.goto(`${server.httpUrl}/permissive`);
    for (const id of ["page.html", "picture.svg", "code.js"]) {
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.goto(urlOf(id)).catch(() => undefined),
      ]);
      expect(download.suggestedFilename()).toBe(id);
      await download.delete();
    }
  });

  it("show pictures, sound and text in place", async () => {
    await page.goto(urlOf("shown.png"));
    expect(await page.evaluate("document.images[0].naturalWidth")).toBe(1);
    await page.goto(urlOf("shown.wav"));
    await poll(
      async () => (await page.evaluate("document.querySelector('video').duration")) === 1,
      "the sound has been read",
    );
    await page.goto(urlOf("shown.txt"));
    expect(await page.evaluate("document.body.innerText")).toBe("Azaleas <b>bloom</b>");
    await page.goto(`${beaconUrl}/host`);
    const width = await page.evaluate(`new Promise((resolve) => {
      const picture = new Image();
      picture.onload = picture.onerror = () => resolve(picture.naturalWidth);
      picture.src = ${JSON.stringify(urlOf("shown.png"))};
    })`);
    expect(width).toBe(1);
  });
});
