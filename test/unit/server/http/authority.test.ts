import type { IncomingMessage } from "node:http";
import { expect, it } from "vitest";
import { readAbsoluteForm } from "../../../../src/server/http/authority.js";

it("leaves several hosts, which Node has joined, to be refused", () => {
  const request = { url: "http://a/session", headers: { host: "a, b" } } as IncomingMessage;
  readAbsoluteForm(request);
  expect(request.headers.host).toBe("a, b");
});

it.each([
  ["http://a:80/session?q=1", "a:80", "/session?q=1"],
  ["HTTPS://a", "a", "/"],
  ["http://a?q=http://b/", "a", "/?q=http://b/"],
  ["http:///session", "", "/session"],
  ["/session?next=http://a/", "host", "/session?next=http://a/"],
  ["*", "host", "*"],
  ["ftp://a/session", "host", "ftp://a/session"],
])("the target %s names the host %j and the path %s", (url, host, path) => {
  const request = { url, headers: { host: "host" } } as IncomingMessage;
  readAbsoluteForm(request);
  expect([request.headers.host, request.url]).toEqual([host, path]);
});
