import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeEach, expect, it, vi } from "vitest";
import type { CallPipeline } from "../../../../src/server/call/front-call.js";
import { compress } from "../../../../src/server/http/compression.js";
import { StaticRoutes } from "../../../../src/server/http/static-routes.js";
import { TestLogger } from "../../../support/test-logger.js";

// Other tests in the same process may have loaded these modules without the mock, and must not get them with it.
vi.hoisted(() => vi.resetModules());
afterAll(() => vi.resetModules());

vi.mock("../../../../src/server/http/compression.js", async (original) => {
  const real = await original<typeof import("../../../../src/server/http/compression.js")>();
  return { ...real, compress: vi.fn(real.compress) };
});

const PAGE = "<p>page</p>".repeat(1000);
const admission = { hold: () => undefined, end: () => undefined };
const pipeline = { admitAnyone: () => admission } as unknown as Pick<CallPipeline, "admitAnyone">;
let server: Server;
let text: string;

beforeEach(async () => {
  text = PAGE;
  vi.mocked(compress).mockClear();
  const routes = new StaticRoutes(new TestLogger().pino).addPage("/page", () => ({ contentType: "text/html", text }));
  server = createServer((request, response) => routes.serve(request.url ?? "", request, response, pipeline));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});

afterEach(() => {
  server.close();
});

it("a page that stays the same is compressed once for each encoding, however often it is requested", async () => {
  for (const encoding of ["br", "gzip", "br", "gzip"]) expect(await ask(encoding)).toEqual([encoding, PAGE]);
  await Promise.all(Array.from({ length: 20 }, () => ask("br")));
  expect(vi.mocked(compress)).toHaveBeenCalledTimes(2);
});

it("a page that has changed is compressed again", async () => {
  await ask("br");
  text = `${PAGE}!`;
  expect(await ask("br")).toEqual(["br", `${PAGE}!`]);
  expect(vi.mocked(compress)).toHaveBeenCalledTimes(2);
});

it("a page is not sent again to a client that has it, however the client or a proxy writes its tag", async () => {
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/page`;
  const tag = (await fetch(url)).headers.get("etag") ?? "";
  const statusFor = async (tags: string) => (await fetch(url, { headers: { "if-none-match": tags } })).status;
  for (const tags of [tag, tag.slice("W/".length), `"other" , ${tag}`, "*"]) expect(await statusFor(tags)).toBe(304);
  for (const tags of ['"other"', "", 'W/"other"']) expect(await statusFor(tags)).toBe(200);
});

async function ask(encoding: string): Promise<readonly [string | null, string]> {
  const { port } = server.address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}/page`, { headers: { "accept-encoding": encoding } });
  return [answer.headers.get("content-encoding"), await answer.text()];
}
