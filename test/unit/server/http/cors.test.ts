import { describe, expect, it, vi } from "vitest";
import { makeCors } from "../../../../src/server/http/cors.js";
import type { HttpRequest, HttpResponse } from "../../../../src/server/http/exchange.js";

const OTHER = "https://other.example";

/** Returns the headers of the answer to a preflight that asks for permission to send these headers. */
function preflight(headers: string, origins = [OTHER]): Record<string, string> {
  const answered: Record<string, string> = {};
  const response = {
    req: { headers: {} },
    setHeader: (name: string, value: string) => Object.assign(answered, { [name]: value }),
    getHeader: () => "Origin",
    on: vi.fn(),
    writeHead: vi.fn(),
    end: vi.fn(),
  } as unknown as HttpResponse;
  const request = {
    method: "OPTIONS",
    headers: { origin: OTHER, "access-control-request-method": "POST", "access-control-request-headers": headers },
    on: vi.fn(),
  } as unknown as HttpRequest;
  makeCors(origins)(request, response);
  return answered;
}

function ask(origins: readonly string[], method: string, headers: Record<string, string>): boolean {
  const request = { method, headers: { host: "localhost:8080", ...headers } } as unknown as HttpRequest;
  const response = { setHeader: vi.fn() } as unknown as HttpResponse;
  return makeCors(origins)(request, response);
}

describe("a page of another origin", () => {
  for (const site of ["cross-site", "same-site"]) {
    it(`may not change anything by a simple request (${site})`, () => {
      const headers = { origin: OTHER, "sec-fetch-site": site };
      expect(() => ask([], "POST", headers)).toThrow(/--cors-origin/);
      expect(() => ask(["https://known.example"], "DELETE", headers)).toThrow(/--cors-origin/);
    });
  }

  it("may change things when its origin is allowed, and may always send reads whose answers it cannot see", () => {
    const headers = { origin: OTHER, "sec-fetch-site": "cross-site" };
    expect(ask([OTHER], "POST", headers)).toBe(false);
    expect(ask([], "GET", headers)).toBe(false);
  });

  it("is distinguished from the server's own pages and from programs", () => {
    expect(ask([], "POST", { origin: OTHER, "sec-fetch-site": "same-origin" })).toBe(false);
    expect(ask([], "POST", { origin: "http://localhost:8080" })).toBe(false);
    expect(ask([], "POST", {})).toBe(false);
  });

  it.each([
    [{ origin: OTHER }, "another host"],
    [{ origin: "http://localhost:8081" }, "another port"],
    [{ origin: "null" }, "a hidden origin"],
    [{ origin: "chrome-extension://localhost:8080" }, "a page that is not a web page"],
  ])("is recognised by its origin when the browser sends no Sec-Fetch-Site: %j", (headers) => {
    for (const method of ["POST", "PATCH", "DELETE"]) expect(() => ask([], method, headers)).toThrow(/--cors-origin/);
    expect(() => ask(["https://known.example"], "POST", headers)).toThrow(/--cors-origin/);
    expect(ask([], "GET", headers)).toBe(false);
  });

  it("is not assumed when a proxy ends TLS, or the origin leaves out the scheme's default port", () => {
    expect(ask([], "POST", { origin: "https://sessions.example", host: "sessions.example" })).toBe(false);
    expect(ask([], "POST", { origin: "https://sessions.example", host: "sessions.example:443" })).toBe(false);
  });
});

describe("a preflight", () => {
  it("allows the headers of the packages of OpenAI, whatever their version sends, and no others that it names", () => {
    const asked = "authorization,content-type,x-stainless-os, X-Stainless-Retry-Count,openai-beta,x-other,x-stainless-";
    const allowed = preflight(asked)["Access-Control-Allow-Headers"];
    expect(allowed).toMatch(/^Authorization, .*X-Request-Id, x-stainless-os, X-Stainless-Retry-Count, openai-beta$/);
  });

  it("without other headers is answered with the list of the server", () => {
    expect(preflight("content-type")["Access-Control-Allow-Headers"]).toMatch(/^Authorization, .*, X-Request-Id$/);
  });

  it("allows credentials to origins that are named, and to no others", () => {
    expect(preflight("content-type")).toMatchObject({
      "Access-Control-Allow-Origin": OTHER,
      "Access-Control-Allow-Credentials": "true",
      "Access-Control-Max-Age": "7200",
      Vary: "Origin",
    });
    for (const origins of [["*"], [OTHER, "*"]]) {
      const answered = preflight("content-type", origins);
      expect(answered).toMatchObject({ "Access-Control-Allow-Origin": "*" });
      expect(answered).not.toHaveProperty("Access-Control-Allow-Credentials");
    }
  });
});
