import { describe, expect, it } from "vitest";
import { breakStatement, unbrokenMarks } from "./broken-rules.js";

const CODE = `function seal(end) {
  // Rule: seal-first. Nothing may slip in.
  const sealed = store.seal(end);
  return sealed === end;
}`;
const rule = { name: "seal-first", file: "x.ts", statement: "store.seal(end)", broken: "end" };

describe("a broken rule", () => {
  it("has its statement replaced", () => {
    const expected = CODE.replace("store.seal(end)", "end");
    expect(breakStatement(CODE, rule)).toBe(expected);
    expect(breakStatement(CODE, { ...rule, name: "seal-first:edit" })).toBe(expected);
  });

  it("must have its statement exactly once", () => {
    expect(() => breakStatement(CODE, { ...rule, statement: "store.unseal()" })).toThrow("0 times");
    expect(() => breakStatement(CODE, { ...rule, statement: "end" })).toThrow("times in x.ts");
  });

  it("must be named directly above its statement", () => {
    expect(() => breakStatement(CODE, { ...rule, name: "other-rule" })).toThrow('No comment "Rule: other-rule."');
    expect(() => breakStatement(CODE, { ...rule, statement: "return sealed === end;" })).toThrow("No comment");
  });

  it("is missed at each place where it is named and not broken", () => {
    const twice = `${CODE}\n// Rule: seal-first. Rule: plan-last.\nreturn plan();\n`;
    const second = { ...rule, name: "seal-first:plan", statement: "return plan();" };
    expect(unbrokenMarks(twice, "x.ts", [])).toEqual(["2: seal-first", "6: seal-first", "6: plan-last"]);
    expect(unbrokenMarks(twice, "x.ts", [rule])).toEqual(["6: seal-first", "6: plan-last"]);
    expect(unbrokenMarks(twice, "x.ts", [rule, second])).toEqual(["6: plan-last"]);
    expect(unbrokenMarks(twice, "x.ts", [rule, { ...second, file: "y.ts" }])).toHaveLength(2);
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
