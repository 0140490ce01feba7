import { type Timestamp, timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";

/** The time as a Date, to the nearest millisecond; undefined for an absent time, such as that of a session for ever. */
export function dateOf(timestamp: Timestamp): Date;
export function dateOf(timestamp: Timestamp | undefined): Date | undefined;
export function dateOf(timestamp: Timestamp | undefined): Date | undefined {
  return timestamp && timestampDate(timestamp);
}

/** The time of a Date, as answers hold it. Requests take a Date as well. RangeError: the Date is not valid. */
export function timestampOf(date: Date): Timestamp {
  return timestampFromDate(date);
}
