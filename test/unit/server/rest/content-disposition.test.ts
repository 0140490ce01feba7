import { describe, expect, it } from "vitest";
import { dispositionOf } from "../../../../src/server/rest/content-disposition.js";

describe("the disposition of an attachment", () => {
  it.each(["image/png", "IMAGE/PNG", "image/png ; x=1", "audio/mpeg", "video/mp4", "text/plain; charset=utf-8"])(
    "shows %s in place",
    (type) => expect(dispositionOf(type, "")).toBe("inline"),
  );

  it.each([
    ...["text/html", "image/svg+xml", "application/pdf", "application/xhtml+xml", "text/xml", "text/javascript"],
    ...["multipart/x-mixed-replace; boundary=x", "text/plain2", "image/png+html", "message/rfc822", "nonsense"],
  ])("saves %s", (type) => expect(dispositionOf(type, "")).toBe("attachment"));

  it.each([
    ["scan.png", 'attachment; filename="scan.png"'],
    ["two words; and=more,.txt", 'attachment; filename="two words; and=more,.txt"'],
    ["../../etc/passwd", 'attachment; filename="_.._etc_passwd"'],
    ["C:\\Windows\\system.ini", 'attachment; filename="C__Windows_system.ini"'],
    ['a".exe; filename="b', 'attachment; filename="a_.exe; filename=_b"'],
    ["a\r\nSet-Cookie: x=1", 'attachment; filename="a__Set-Cookie_ x=1"'],
    ["...hidden", 'attachment; filename="hidden"'],
    [" . name . ", 'attachment; filename="name"'],
    ["nul\u0000\u007f\u0085", 'attachment; filename="nul___"'],
    ["%41%0d%0a", 'attachment; filename="_41_0d_0a"'],
    ["invoice\u202Egnp.exe", 'attachment; filename="invoicegnp.exe"'],
    ["..", "attachment"],
    ["\u200b", "attachment"],
    ["京都 (2).png", "attachment; filename=\"__ (2).png\"; filename*=UTF-8''%E4%BA%AC%E9%83%BD%20%282%29.png"],
    ["é'*.txt", "attachment; filename=\"_'_.txt\"; filename*=UTF-8''%C3%A9%27_.txt"],
    ["\u{1F600}.txt", "attachment; filename=\"_.txt\"; filename*=UTF-8''%F0%9F%98%80.txt"],
  ])("has the name %j as %s", (name, header) => expect(dispositionOf("a/b", name)).toBe(header));
});
