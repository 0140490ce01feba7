import { describe, expect, it } from "vitest";
import { LocalDays } from "../../../src/domain/local-days.js";

const micros = (text: string) => Date.parse(text) * 1000;

describe("LocalDays", () => {
  it.each([
    ["", "2026-11-27T23:59:59.999Z", "2026-11-27"],
    ["UTC", "2026-11-28T00:00:00Z", "2026-11-28"],
    // Summer time begins and ends in Berlin, New York, and, by half an hour, on Lord Howe Island.
    ["Europe/Berlin", "2026-03-28T22:59:59Z", "2026-03-28"],
    ["Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-29"],
    ["Europe/Berlin", "2026-03-29T21:59:59Z", "2026-03-29"],
    ["Europe/Berlin", "2026-03-29T22:00:00Z", "2026-03-30"],
    ["Europe/Berlin", "2026-10-25T22:59:59Z", "2026-10-25"],
    ["Europe/Berlin", "2026-10-25T23:00:00Z", "2026-10-26"],
    ["America/New_York", "2026-11-02T04:59:59Z", "2026-11-01"],
    ["America/New_York", "2026-11-02T05:00:00Z", "2026-11-02"],
    ["Australia/Lord_Howe", "2026-10-03T13:29:59Z", "2026-10-03"],
    ["Australia/Lord_Howe", "2026-10-04T13:00:00Z", "2026-10-05"],
    // The clocks of Beirut and Santiago go forward at midnight, and Apia left out a day.
    ["America/Santiago", "2026-09-06T03:59:59Z", "2026-09-05"],
    ["America/Santiago", "2026-09-06T04:00:00Z", "2026-09-06"],
    ["Pacific/Apia", "2011-12-30T09:59:59Z", "2011-12-29"],
    ["Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-31"],
    ["Asia/Kathmandu", "2026-01-01T18:14:59Z", "2026-01-01"],
    ["Asia/Kathmandu", "2026-01-01T18:15:00Z", "2026-01-02"],
    // Monrovia left an offset of 44 minutes and 30 seconds.
    ["Africa/Monrovia", "1972-01-07T00:44:29Z", "1972-01-06"],
    ["Africa/Monrovia", "1972-01-07T00:44:30Z", "1972-01-07"],
    ["Asia/Tokyo", "1969-12-31T15:00:00Z", "1970-01-01"],
  ])("in %s finds %s on %s", (zone, time, day) => {
    const days = new LocalDays(zone);
    expect(days.textOf(micros(time))).toBe(day);
    // From the cache.
    expect(days.textOf(micros(time))).toBe(day);
  });

  it("agrees with the runtime at every moment of some years", () => {
    for (const zone of ["Europe/Berlin", "America/St_Johns", "Africa/Casablanca", "Antarctica/Troll"]) {
      const days = new LocalDays(zone);
      const format = new Intl.DateTimeFormat("en-CA", { timeZone: zone, dateStyle: "short" });
      for (let ms = Date.UTC(2025, 0, 1); ms < Date.UTC(2026, 0, 1); ms += 7 * 3_600_000 + 61_000) {
        expect(days.textOf(ms * 1000)).toBe(format.format(ms));
      }
    }
  });

  it.each([
    ["", "2026-11-28", "2026-11-28T00:00:00Z"],
    ["Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00Z"],
    ["Europe/Berlin", "2026-03-30", "2026-03-29T22:00:00Z"],
    ["America/Santiago", "2026-09-06", "2026-09-06T04:00:00Z"],
  ])("in %s begins %s at %s", (zone, day, time) => {
    expect(new LocalDays(zone).startOf(day)).toBe(micros(time));
  });

  it.each(["2026-02-30", "2026-13-01", "x"])("knows no day %s", (day) => {
    expect(new LocalDays("Europe/Berlin").startOf(day)).toBeNaN();
  });
});
