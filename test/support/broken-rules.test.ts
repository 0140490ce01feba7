import { describe, expect, it } from "vitest";
import { breakStatement } from "./broken-rules.js";

const CODE = `function seal(end) {
  // Rule: seal-first. Nothing may slip in.
  const sealed = store.seal(end);
  return sealed === end;
}`;
const statement = { file: "x.ts", statement: "store.seal(end)", broken: "end" };

describe("a broken rule", () => {
  it("has its statement replaced", () => {
    expect(breakStatement(CODE, "seal-first", statement)).toBe(CODE.replace("store.seal(end)", "end"));
  });

  it("must have its statement exactly once", () => {
    expect(() => breakStatement(CODE, "seal-first", { ...statement, statement: "store.unseal()" })).toThrow("0 times");
    expect(() => breakStatement(CODE, "seal-first", { ...statement, statement: "end" })).toThrow("times in x.ts");
  });

  it("must be named directly above its statement", () => {
    expect(() => breakStatement(CODE, "other-rule", statement)).toThrow('No comment "Rule: other-rule."');
    const below = { ...statement, statement: "return sealed === end;" };
    expect(() => breakStatement(CODE, "seal-first", below)).toThrow("No comment");
  });

  it("is broken only in modules that are imported with the query ?without", async () => {
    const path = "../simulation/rules.js";
    const whole = await import(/* @vite-ignore */ path);
    const again = await import(/* @vite-ignore */ path);
    expect(again).toBe(whole);
    await expect(import(/* @vite-ignore */ `${path}?without=no-such-rule`)).rejects.toThrow(
      "There is no rule no-such-rule",
    );
  });
});
