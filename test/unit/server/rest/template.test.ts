import { describe, expect, test } from "vitest";
import { parseTemplate, templateKey } from "../../../../src/server/rest/template.js";

describe("parseTemplate", () => {
  test("reads literals, variables and a verb", () => {
    expect(parseTemplate("/session/{session_id}/message:batch")).toEqual({
      segments: [{ literal: "session" }, { wildcard: "*" }, { literal: "message" }],
      variables: [{ fieldPath: "session_id", start: 1, end: 2, multiple: false }],
      verb: "batch",
    });
  });

  test("reads a variable of several segments, a nested field and a verb after a variable", () => {
    expect(parseTemplate("/v1/{message.name=shelves/*/books/**}:archive")).toEqual({
      segments: [
        { literal: "v1" },
        { literal: "shelves" },
        { wildcard: "*" },
        { literal: "books" },
        { wildcard: "**" },
      ],
      variables: [{ fieldPath: "message.name", start: 1, end: 5, multiple: true }],
      verb: "archive",
    });
    expect(parseTemplate("/{a}/*/{b=**}").variables).toEqual([
      { fieldPath: "a", start: 0, end: 1, multiple: false },
      { fieldPath: "b", start: 2, end: 3, multiple: true },
    ]);
  });

  test.each([
    ["", "it must begin with a slash"],
    ["session", "it must begin with a slash"],
    ["/", 'bad segment ""'],
    ["/a/", 'bad segment ""'],
    ["/a//b", 'bad segment ""'],
    ["/a/:verb", 'bad segment ""'],
    ["/a:", 'bad verb ""'],
    ["/a:b:c", 'bad segment "a:b"'],
    ["/a:b/c", 'bad segment "a:b"'],
    ["/a b", 'bad segment "a b"'],
    ["/a/..", 'bad segment ".."'],
    ["/{}", 'bad field path ""'],
    ["/{a", 'bad segment "{a"'],
    ["/a}", 'bad segment "a}"'],
    ["/{a}b", 'bad segment "{a}b"'],
    ["/{a-b}", 'bad field path "a-b"'],
    ["/{a.}", 'bad field path "a."'],
    ["/{a=}", 'bad segment "" in a'],
    ["/{a={b}}", 'bad segment "{b}" in a'],
    ["/{a}/{a}", "a occurs twice"],
    ["/**/a", "** must be the last segment"],
    ["/{a=**}/b", "** must be the last segment"],
    ["/a***", 'bad segment "a***"'],
  ])("refuses %j", (text, reason) => {
    expect(() => parseTemplate(text)).toThrow(`Bad path template ${JSON.stringify(text)}: ${reason}`);
  });

  test("gives templates of the same shape the same key, whatever their variables are called", () => {
    expect(templateKey(parseTemplate("/a/{b}/{c=**}:d"))).toBe("/a/*/**:d");
    expect(templateKey(parseTemplate("/a/*/{x=**}:d"))).toBe("/a/*/**:d");
  });
});
