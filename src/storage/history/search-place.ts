import { invalidArgument } from "../../domain/errors.js";
import type { Entry } from "./log-store.js";

/** Where an entry is in the order of a search, which is by time, log and place in the log, all descending. */
export type SearchPlace = Pick<Entry, "timestampMicros" | "log" | "seq">;

/** Writes a place for the page tokens of stores that order the entries they find by these fields. */
export function writeSearchPlace({ timestampMicros, log, seq }: SearchPlace): string {
  return `${timestampMicros} ${seq} ${log}`;
}

/** `invalid_argument`: another kind of store wrote it. */
export function readSearchPlace(text: string): SearchPlace {
  const [, timestamp, seq, log] = /^(-?\d{1,16}) (\d{1,10}) (.*)$/s.exec(text) ?? [];
  if (log === undefined) throw invalidArgument("page_token belongs to another store");
  return { timestampMicros: Number(timestamp), seq: Number(seq), log };
}
