import { Code } from "@connectrpc/connect";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { HttpRequest } from "../../../../src/server/http/exchange.js";
import { takeTickets, ticketOf } from "../../../../src/server/http/url-ticket.js";

describe("a ticket in the URL", () => {
  it.each([
    ["/s?ticket=spt_a.b.c", "/s", "spt_a.b.c"],
    ["/s?ticket=", "/s", ""],
    ["/s?ticket", "/s", ""],
    ["/s?a=1&ticket=t&b=%20", "/s?a=1&b=%20", "t"],
    ["/s?ticket=t&a=1", "/s?a=1", "t"],
    ["/s?a=1&%74icke%74=t%2Eu", "/s?a=1", "t.u"],
    ["/s?ticket=%zz", "/s", "%zz"],
    ["/s?ticket=a=b", "/s", "a=b"],
    ["/s?&ticket=t&", "/s?&", "t"],
    ["https://h/s?ticket=t", "https://h/s", "t"],
  ])("of %s is taken out of it", (url, rest, ticket) => {
    const request = requestWith({ url });
    takeTickets(request);
    expect(request.url).toBe(rest);
    expect(ticketOf(request)).toBe(ticket);
  });

  it.each([
    "/s",
    "/s?",
    "/s?tickets=t",
    "/s?Ticket=t",
    "/s?a=ticket",
    "/s?a=1&ticket%=t",
    "/ticket=t",
    "/s?%",
    "",
    "*",
  ])("is not in %j, which stays as it is", (url) => {
    const request = requestWith({ url });
    takeTickets(request);
    expect(request.url).toBe(url);
    expect(ticketOf(request)).toBeUndefined();
  });

  it.each([
    ["POST", { method: "POST" }, "Only GET may have a ticket in the URL"],
    ["DELETE", { method: "DELETE" }, "Only GET may have a ticket in the URL"],
    ["two tickets", { url: "/s?ticket=a&ticket=a" }, "The URL must have one ticket"],
    ["an Authorization header", { headers: { authorization: "Bearer k" } }, "must have no Authorization header"],
    ["an empty Authorization header", { headers: { authorization: "" } }, "must have no Authorization header"],
  ])("is refused with %s", (_what, fields, message) => {
    const request = requestWith({ url: "/s?ticket=a", ...fields });
    takeTickets(request);
    expect(request.url).toBe("/s");
    expect(() => ticketOf(request)).toThrow(expect.objectContaining({ code: Code.InvalidArgument }));
    expect(() => ticketOf(request)).toThrow(message);
  });

  it("is taken also with HEAD", () => {
    const request = requestWith({ url: "/s?ticket=a", method: "HEAD" });
    takeTickets(request);
    expect(ticketOf(request)).toBe("a");
  });

  it("is what URLSearchParams reads, and the other parameters keep their text", () => {
    const pair = fc.oneof(
      fc.constantFrom("ticket=x", "ticket", "%74icket=%78", "tic%6bet=y", "a=ticket", "ticket=%", "&", "%=1"),
      fc.string({ unit: "grapheme-ascii" }).map((text) => text.replaceAll("#", "")),
    );
    fc.assert(
      fc.property(fc.array(pair), (pairs) => {
        const query = pairs.join("&");
        const request = requestWith({ url: `/s?${query}` });
        takeTickets(request);
        const rest = request.url?.slice("/s?".length) ?? "";
        // By itself, URLSearchParams would drop a question mark at the beginning.
        const parametersOf = (text: string) => [...new URLSearchParams(`&${text}`)];
        const all = parametersOf(query).filter(([name]) => name !== "ticket");
        expect(parametersOf(rest)).toEqual(all);
      }),
    );
  });
});

function requestWith(fields: object): HttpRequest {
  return { method: "GET", headers: {}, ...fields } as HttpRequest;
}
