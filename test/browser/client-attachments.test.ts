import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { build } from "esbuild";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import type * as Client from "../../clients/typescript/src/index.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith, ROOT } from "../support/toolchain.js";
import { DESKTOP, findBrowser, openBrowser } from "./browser.js";

declare const pool: typeof Client;

await describeWith("the TypeScript client in a page of another origin", findBrowser, (browserPath) => {
  let site: Server;
  let server: TestServer;
  let browser: BrowserContext;
  let page: Page;

  beforeAll(async () => {
    const { outputFiles } = await build({
      absWorkingDir: ROOT,
      entryPoints: ["clients/typescript/src/index.ts"],
      globalName: "pool",
      ...{ bundle: true, write: false, format: "iife" },
    });
    const script = outputFiles[0]?.text ?? "";
    site = createServer((request, response) => {
      response.setHeader("content-type", request.url === "/client.js" ? "text/javascript" : "text/html");
      response.end(request.url === "/client.js" ? script : "<!doctype html><script src=/client.js></script>");
    });
    await once(site.listen(0, "127.0.0.1"), "listening");
    const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
    server = await startTestServer({ corsOrigins: [origin] });
    browser = await openBrowser(browserPath, DESKTOP);
    page = await browser.newPage();
    await page.goto(origin);
  });

  afterAll(async () => {
    await browser.close();
    await server.stop();
    site.close();
  });

  it("uploads Blobs and streams with progress, downloads ranges, and stops when it is told", async () => {
    const outcome = await page.evaluate(async (baseUrl) => {
      const client = pool.createSessionPoolClient({ baseUrl });
      const bytes = new Uint8Array(3_000_000).map((_none, i) => i);
      const progress: number[] = [];
      const options = { name: "ü.bin", createSession: true, onProgress: (sent: number) => void progress.push(sent) };
      const blob = await client.uploadAttachment("page", new File([bytes], "x", { type: "image/png" }), options);
      const stream = await client.uploadAttachment("page", new Blob([bytes]).stream(), {
        onProgress: options.onProgress,
      });
      const plain = await client.uploadAttachment("page", bytes);
      const range = await client.downloadAttachment("page", blob.attachmentId, { offset: 5, length: 4 });
      const part = [...(await range.bytes())];
      const whole = await (await client.downloadAttachment("page", stream.attachmentId)).bytes();
      const abort = new AbortController();
      const stopped = client.uploadAttachment("page", bytes, { signal: abort.signal, onProgress: () => abort.abort() });
      const code = await stopped.then(
        () => "stored",
        (error: unknown) => (error as Client.ConnectError).code,
      );
      const refused = await client.uploadAttachment("nobody", bytes, { onProgress: () => {} }).then(
        () => "stored",
        (error: unknown) => (error as Client.ConnectError).code,
      );
      const same = whole.every((byte, i) => byte === bytes[i]);
      const sizes = [blob.size, stream.size, plain.size, whole.length];
      return {
        attachment: range.attachment,
        part,
        sizes,
        same,
        code,
        refused,
        last: progress.at(-1),
        sha256: blob.sha256,
      };
    }, server.httpUrl);
    expect(outcome).toMatchObject({
      attachment: { name: "ü.bin", mediaType: "image/png", size: 3_000_000, sha256: outcome.sha256 },
      part: [5, 6, 7, 8],
      sizes: Array(4).fill(3_000_000),
      same: true,
      last: 3_000_000,
      code: 1,
      refused: 5,
    });
  });
});
