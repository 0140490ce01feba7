import { describe, expect, it } from "vitest";
import {
  checkTimeZone,
  compareValues,
  groupByText,
  labelValues,
  parseGroupBy,
  valueBy,
} from "../../../src/domain/usage-groups.js";

describe("parseGroupBy", () => {
  it.each([
    ["", []],
    ["  ", []],
    ["day", [{ by: "day" }]],
    [" day , tool,label:team", [{ by: "day" }, { by: "tool" }, { by: "label", key: "team" }]],
    ['label:"a,b",model', [{ by: "label", key: "a,b" }, { by: "model" }]],
    ['label:"a""b"', [{ by: "label", key: 'a"b' }]],
    ['label:" a "', [{ by: "label", key: " a " }]],
    ["label:label:x", [{ by: "label", key: "label:x" }]],
  ])("reads %j", (text, groups) => {
    expect(parseGroupBy(text)).toEqual(groups);
    expect(parseGroupBy(groupByText(parseGroupBy(text)))).toEqual(groups);
  });

  it.each([
    ["days", 'group_by names "days"; day, model, provider, owner, session, tool and label:KEY are known'],
    ["day,", 'group_by names ""; day, model'],
    ["day,tool,day", "group_by names day twice"],
    ['label:a,label:"a"', "group_by names label:a twice"],
    ["label:", "group_by names a label without a key"],
    ["label:team=red", 'group_by names "label:team=red"; no key of a label has "=" or control characters'],
    ["label:a\u0001", "no key of a label"],
    ['label:"a', 'group_by is "label:\\"a"; a quotation mark is not closed'],
    ['label:a"b"c', "a key in quotation marks is written"],
    ["label:1,label:2,label:3,label:4,label:5,label:6,label:7,label:8,label:9", "has 9 names; at most 8 are allowed"],
    ["x".repeat(4097), "group_by has 4097 characters; at most 4096 are allowed"],
  ])("refuses %j", (text, message) => {
    expect(() => parseGroupBy(text)).toThrow(message);
  });
});

describe("checkTimeZone", () => {
  it.each([undefined, "", "UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires"])("accepts %j", (zone) => {
    expect(() => checkTimeZone("time_zone", zone)).not.toThrow();
  });

  it.each(["Europe/Nowhere", "+01:00", "Berlin", "x".repeat(1000), "\u0000"])("refuses %j", (zone) => {
    expect(() => checkTimeZone("time_zone", zone)).toThrow(
      `time_zone is ${JSON.stringify(zone.slice(0, 128))}; it must be a name of the IANA database`,
    );
  });
});

it("groups are ordered value by value, those without a label first", () => {
  const ordered = [
    [null, "b"],
    ["", "a"],
    ["a", "a"],
    ["a", "b"],
    ["b", "a"],
  ] as const;
  expect(ordered.toReversed().toSorted(compareValues)).toEqual(ordered);
  expect(compareValues(["a", null], ["a", null])).toBe(0);
});

it("values are found by the names of groups", () => {
  const groups = parseGroupBy("day,label:__proto__,label:b");
  const values = ["2026-11-28", "x", null];
  expect(valueBy("day", groups, values)).toBe("2026-11-28");
  expect(valueBy("model", groups, values)).toBeUndefined();
  expect(Object.entries(labelValues(groups, values))).toEqual([["__proto__", "x"]]);
});
