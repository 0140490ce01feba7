import { InvalidArgumentError, type Option } from "commander";
import { flag, seconds, wholeNumber } from "./flags.js";

const DAY_MS = 86_400_000;
const LEAST_FEED_HOURS = 24;
/** A year: what is deleted would otherwise pile up for ever. */
const MOST_FEED_HOURS = 8784;

export function attachmentIdleFlag(): Option {
  const flagged = flag("--attachment-idle-s <n>", "seconds that an attachment is kept which nothing names");
  return flagged.default(86_400).argParser(seconds);
}

export function feedRetentionFlag(): Option {
  const flagged = flag("--feed-retention-h <n>", "hours for which a watch of sessions can be resumed, at least 24");
  return flagged.default(LEAST_FEED_HOURS).argParser(feedHours);
}

function feedHours(text: string): number {
  const hours = wholeNumber(text);
  if (hours < LEAST_FEED_HOURS || hours > MOST_FEED_HOURS) {
    throw new InvalidArgumentError(`It must be from ${LEAST_FEED_HOURS} to ${MOST_FEED_HOURS}.`);
  }
  return hours;
}

/** Converts `--feed-retention-h` to milliseconds. */
export function readFeedRetention(hours: number): number {
  return hours * 3_600_000;
}

export function retentionFlag(): Option {
  const flagged = flag("--retention-days <n>", "a session expires this many days after its last change, 0 for never");
  return flagged.default(0).argParser(wholeNumber);
}

/** The flag of everything that deletes sessions. */
export function undeleteFlag(): Option {
  const flagged = flag("--undelete-days <n>", "days for which a deleted session can be brought back, 0 for none");
  return flagged.default(0).argParser(wholeNumber);
}

/** Converts `--undelete-days` to milliseconds. */
export function readUndelete(days: number): number {
  return days * DAY_MS;
}

/** Converts `--retention-days` to milliseconds. */
export function readRetention(days: number): number {
  return days === 0 ? Number.POSITIVE_INFINITY : days * DAY_MS;
}
