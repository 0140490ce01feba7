import fc from "fast-check";
import { expect, it } from "vitest";
import { toGrpcMessage } from "../../../../src/server/http/grpc-message.js";

const PRINTABLE = Array.from({ length: 0x7f - 0x20 }, (_, i) => String.fromCharCode(0x20 + i)).join("");

it("escapes only what gRPC has escaped: `%`, and bytes that are not printable ASCII", () => {
  expect(toGrpcMessage(`x${PRINTABLE}x`)).toBe(`x${PRINTABLE.replace("%", "%25")}x`);
  expect(toGrpcMessage("a\nb\u0000\u007f é 👋 %41")).toBe("a%0Ab%00%7F %C3%A9 %F0%9F%91%8B %2541");
});

it("keeps spaces at the ends, which HTTP drops from headers", () => {
  expect(toGrpcMessage("  a b ")).toBe("%20%20a b%20");
  expect(toGrpcMessage(" ")).toBe("%20");
});

it("is read as the same text by those who unescape everything and by those who leave punctuation escaped", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(decodeURIComponent(toGrpcMessage(text))).toBe(text);
      expect(decodeURI(toGrpcMessage(text))).toBe(text);
      expect(toGrpcMessage(text)).toMatch(/^[\x20-\x7e]*$/);
    }),
  );
});

it("writes half a character as a replacement character", () => {
  expect(toGrpcMessage("\ud83d.")).toBe("%EF%BF%BD.");
});
