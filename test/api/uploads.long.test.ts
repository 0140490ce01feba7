import { request as sendRequest } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { DEFAULT_SERVER_LIMITS } from "../../src/config/config.js";
import { startTestServer, type TestServer } from "../support/server.js";

/** Longer than Node lets a request over HTTP/1.1 take with these limits, and than the time between two of its looks. */
const SECONDS = 65;

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ serverLimits: { ...DEFAULT_SERVER_LIMITS, bodyTimeoutMs: 10_000 } });
});

afterAll(() => server.stop());

it("an upload over HTTP/1.1 may last for as long as it moves", { timeout: 3000 * SECONDS }, async () => {
  const path = "/session/s/attachment?attachment_id=a&create_session=true";
  const request = sendRequest(`${server.httpUrl}${path}`, { method: "POST", agent: false });
  const answered = new Promise<number | undefined>((resolve, reject) => {
    request.on("response", (response) => resolve(response.resume().statusCode)).on("error", reject);
  });
  for (let i = 0; i < SECONDS; i++) {
    request.write("x");
    await wait(1000);
  }
  request.end();
  expect(await answered).toBe(200);
  const bytes = await (await fetch(`${server.httpUrl}/session/s/attachment/a`)).text();
  expect(bytes).toBe("x".repeat(SECONDS));
});
