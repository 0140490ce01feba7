import { describe, expect, test } from "vitest";
import { Router } from "../../../../src/server/rest/router.js";

function routerOf(...routes: string[]): Router<string> {
  const router = new Router<string>();
  for (const route of routes) {
    const [method = "", template = ""] = route.split(" ");
    router.add(method, template, route);
  }
  return router;
}

function matched(router: Router<string>, request: string): unknown {
  const [method = "", path = ""] = request.split(" ");
  const match = router.match(method, path);
  if (!("target" in match)) return { allowed: [...match.allowed].sort() };
  return [match.target, ...match.variables.map(({ fieldPath, rawText }) => `${fieldPath}=${rawText}`)];
}

const NOTHING = { allowed: [] };

describe("Router", () => {
  const sessions = routerOf(
    "GET /session",
    "GET /session/{id}",
    "PATCH /session/{id}",
    "GET /{id}/todo",
    "GET /session/{id}/todo",
    "POST /session/{id}/message",
    "GET /session/{id}/message/{message}",
    "GET /session/{id}/message:count",
    "POST /session/{id}/message:batch",
  );

  test.each([
    ["GET /session", ["GET /session"]],
    ["GET /session/todo", ["GET /session/{id}", "id=todo"]],
    ["GET /x/todo", ["GET /{id}/todo", "id=x"]],
    ["GET /session/todo/todo", ["GET /session/{id}/todo", "id=todo"]],
    ["GET /session/x/message:count", ["GET /session/{id}/message:count", "id=x"]],
    ["GET /session/a:b/message:count", ["GET /session/{id}/message:count", "id=a:b"]],
    ["GET /session/a:b/message/c:d", ["GET /session/{id}/message/{message}", "id=a:b", "message=c:d"]],
    ["GET /session/x/message/message:count", ["GET /session/{id}/message/{message}", "id=x", "message=message:count"]],
    ["GET /session/message:count", ["GET /session/{id}", "id=message:count"]],
    ["GET /session/%2Fa%252F", ["GET /session/{id}", "id=%2Fa%252F"]],
    ["GET /session/...", ["GET /session/{id}", "id=..."]],
    ["GET /session/%252e%252e", ["GET /session/{id}", "id=%252e%252e"]],
    ["GET /sessio%6E/todo", ["GET /{id}/todo", "id=sessio%6E"]],
  ])("%s", (request, expected) => {
    expect(matched(sessions, request)).toEqual(expected);
  });

  test.each([
    "GET /",
    "GET /session/",
    "GET //session",
    "GET /session//todo",
    "GET /Session/x/message/y",
    "GET /session/x/message%3Acount",
    "GET /session/x/message:count/",
    "GET /session/x/message:none",
    "GET /session/x/message:",
    "GET /session/.",
    "GET /session/..",
    "GET /session/%2e",
    "GET /session/%2E.",
    "GET /session/.%2e/todo",
    "GET /session/x/../y",
    "GET session",
    "GET ",
  ])("%s matches nothing", (request) => {
    expect(matched(sessions, request)).toEqual(NOTHING);
  });

  test("returns the allowed methods for a path without the requested one", () => {
    expect(matched(sessions, "PUT /session/x")).toEqual({ allowed: ["GET", "PATCH"] });
    expect(matched(sessions, "PATCH /session/todo/todo")).toEqual({ allowed: ["GET"] });
    expect(matched(sessions, "POST /session/x/message:count")).toEqual({ allowed: ["GET"] });
  });

  test("backtracks from a literal that leads nowhere, and prefers a later template that has the method", () => {
    const router = routerOf("GET /a/b/c", "GET /a/*/d", "POST /*/b/c");
    expect(matched(router, "GET /a/b/d")).toEqual(["GET /a/*/d"]);
    expect(matched(router, "POST /a/b/c")).toEqual(["POST /*/b/c"]);
    expect(matched(router, "PUT /a/b/c")).toEqual({ allowed: ["GET", "POST"] });
  });

  test("matches ** with any number of segments, after everything else", () => {
    const router = routerOf("GET /f/{path=**}", "GET /f/{one}", "GET /f/{path=**}:zip", "GET /{name=g/*/h}:do");
    expect(matched(router, "GET /f")).toEqual(["GET /f/{path=**}", "path="]);
    expect(matched(router, "GET /f/a")).toEqual(["GET /f/{one}", "one=a"]);
    expect(matched(router, "GET /f/a/b")).toEqual(["GET /f/{path=**}", "path=a/b"]);
    expect(matched(router, "GET /f/a/b:zip")).toEqual(["GET /f/{path=**}:zip", "path=a/b"]);
    expect(matched(router, "GET /g/x:y/h:do")).toEqual(["GET /{name=g/*/h}:do", "name=g/x:y/h"]);
    expect(matched(router, "GET /f/a/../b")).toEqual(NOTHING);
  });

  test("distinguishes a verb after a variable from an id with a colon", () => {
    const router = routerOf("POST /s/{id}", "POST /s/{id}:archive");
    expect(matched(router, "POST /s/a:b:archive")).toEqual(["POST /s/{id}:archive", "id=a:b"]);
    expect(matched(router, "POST /s/a:b")).toEqual(["POST /s/{id}", "id=a:b"]);
    expect(matched(router, "POST /s/:archive")).toEqual(["POST /s/{id}", "id=:archive"]);
    expect(matched(router, "POST /s/a%3Aarchive")).toEqual(["POST /s/{id}", "id=a%3Aarchive"]);
  });

  test("matches any method with *", () => {
    expect(matched(routerOf("* /a", "GET /a"), "LOCK /a")).toEqual(["* /a"]);
    expect(matched(routerOf("* /a", "GET /a"), "GET /a")).toEqual(["GET /a"]);
  });

  test("refuses two routes with the same method and shape, and accepts all others", () => {
    const router = routerOf("GET /a/{b}", "POST /a/{b}", "GET /a/{b}:c", "GET /{a}/b");
    expect(() => router.add("GET", "/a/{other}", "x")).toThrow("Two routes for GET /a/*");
    expect(() => router.add("GET", "/a/{other}:c", "x")).toThrow("Two routes for GET /a/*:c");
    expect(() => router.add("GET", "/a//b", "x")).toThrow("Bad path template");
  });
});
