import { describe, expect, it } from "vitest";
import { byteSize, duration } from "../../../../../src/console/app/text/format.js";

describe("texts of the console", () => {
  it.each([
    [420, "420 ms"],
    [6500, "6.5 s"],
    [59_000, "59 s"],
    [840_000, "14 min"],
    [119_900, "1 min 59 s"],
    [5_400_000, "1.5 h"],
  ])("show %d ms as %s", (ms, text) => {
    expect(duration(ms)).toBe(text);
  });

  it.each([
    [0, "0 bytes"],
    ["1", "1 byte"],
    [1023, "1,023 bytes"],
    [1536, "1.5 KB"],
    [64 * 1024 ** 2, "64.0 MB"],
    [200 * 1024 ** 2, "200 MB"],
    [5000 * 1024 ** 3, "5000 GB"],
  ])("show %s bytes as %s", (bytes, text) => {
    expect(byteSize(bytes)).toBe(text);
  });
});
