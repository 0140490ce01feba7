import { describe, expect, it } from "vitest";
import { decodeUsageToken, encodeUsageToken, type SumFilter } from "../../../src/api/page-token.js";

const filter: SumFilter = { namespace: "default", fields: [1, null, "day,label:a", ""], labels: ["a=1", "b=2"] };

describe("tokens of sums", () => {
  it("name the sum, and the last group", () => {
    for (const cursor of [{ sumId: "x" }, { sumId: "x", after: ["2026-01-01", null] }]) {
      expect(decodeUsageToken(encodeUsageToken(cursor, filter), filter, 2)).toEqual(cursor);
    }
  });

  it("belong to their request, whatever the order of its labels", () => {
    const token = encodeUsageToken({ sumId: "x" }, filter);
    expect(decodeUsageToken(token, { ...filter, labels: ["b=2", "a=1", "a=1"] }, 2)).toEqual({ sumId: "x" });
    const others: readonly Partial<SumFilter>[] = [
      { namespace: "other" },
      { owner: "" },
      { owner: "ada" },
      { labels: ["a=1"] },
      { fields: [2, null, "day,label:a", ""] },
      { fields: [1, null, "day", ""] },
    ];
    for (const other of others) {
      expect(() => decodeUsageToken(token, { ...filter, ...other }, 2)).toThrow("belongs to sums of another namespace");
    }
  });

  it("have as many values as there are names", () => {
    const token = encodeUsageToken({ sumId: "x", after: ["2026-01-01"] }, filter);
    expect(() => decodeUsageToken(token, filter, 2)).toThrow("page_token is not a token that was given out");
  });
});
