import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { MAX_SECONDS, MIN_SECONDS } from "../api/timestamps.js";

const DAY_SECONDS = 86_400;

/** 00 to 99. */
const TWO_DIGITS = Array.from({ length: 100 }, (_, value) => String(value).padStart(2, "0"));

/** The day that was written last: the messages of a page are mostly of one. */
let lastDay = Number.NaN;
let lastDate = "";

/** RFC 3339 in UTC, with no, 3, 6 or 9 digits after the point. */
export function timestampText({ seconds, nanos }: Timestamp): string {
  const time = Number(seconds);
  if (!(seconds >= MIN_SECONDS && seconds <= MAX_SECONDS && nanos >= 0 && nanos <= 999_999_999)) {
    throw new Error(`The time of ${seconds} s and ${nanos} ns has no JSON form`);
  }
  const day = Math.floor(time / DAY_SECONDS);
  const ofDay = time - day * DAY_SECONDS;
  const hours = TWO_DIGITS[Math.floor(ofDay / 3600)];
  const minutes = TWO_DIGITS[Math.floor(ofDay / 60) % 60];
  return `${dateText(day)}T${hours}:${minutes}:${TWO_DIGITS[ofDay % 60]}${fractionText(nanos)}Z`;
}

function dateText(day: number): string {
  if (day !== lastDay) {
    lastDate = new Date(day * DAY_SECONDS * 1000).toISOString().slice(0, 10);
    lastDay = day;
  }
  return lastDate;
}

function fractionText(nanos: number): string {
  if (nanos === 0) return "";
  if (nanos % 1_000_000 === 0) return `.${String(nanos / 1_000_000).padStart(3, "0")}`;
  if (nanos % 1000 === 0) return `.${String(nanos / 1000).padStart(6, "0")}`;
  return `.${String(nanos).padStart(9, "0")}`;
}
