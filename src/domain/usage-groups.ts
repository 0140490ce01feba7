import { invalidArgument } from "./errors.js";
import type { Labels } from "./labels.js";
import type { UsageSums } from "./usage.js";
import { hasControl } from "./validate.js";

/** One of the names by which sums of usage are grouped. */
export type UsageGroup =
  | { readonly by: "day" | "model" | "provider" | "owner" | "session" | "tool" }
  /** The value of this label of the session. */
  | { readonly by: "label"; readonly key: string };

/**
 * What tells a group apart, in the order of the names that were asked for. Null stands for a label that the sessions of
 * the group do not have.
 */
export type GroupValues = readonly (string | null)[];

/** Which messages are added up, and how. */
export interface UsageQuery {
  /** Only messages at or after this time. */
  readonly sinceMicros?: number | undefined;
  /** Only messages before this time. */
  readonly untilMicros?: number | undefined;
  /** Each name once. With `tool`, calls of tools are counted instead of calls of models. */
  readonly groupBy: readonly UsageGroup[];
  /** IANA time zone of the days: UTC. */
  readonly timeZone?: string | undefined;
  /** Only messages of sessions with all of these labels, each written `key=value`. */
  readonly labels?: readonly string[] | undefined;
  /** Only messages of sessions of this owner; empty for sessions without one. */
  readonly owner?: string | undefined;
  /** Only messages of this session. */
  readonly sessionId?: string | undefined;
  /** Only messages whose usage names this model. */
  readonly model?: string | undefined;
}

/** The sums of one group. */
export interface UsageRow extends UsageSums {
  readonly values: GroupValues;
  /** Of the durations that messages have, the smallest that is at least as long as half of them; absent without any. */
  readonly durationP50Micros?: number | undefined;
  /** The same for 95 %. */
  readonly durationP95Micros?: number | undefined;
  /** How many of the calls of tools failed; 0 where calls of models are counted. */
  readonly failedCalls: number;
}

/** Where the rows of a sum go on. */
export interface UsageCursor {
  /** Names what the process that answered keeps of the sum; another process begins anew. */
  readonly sumId: string;
  /** Only groups after this one; absent before the first. */
  readonly after?: GroupValues | undefined;
}

export interface UsagePage {
  /** Ordered by their values, each group once. Empty while the sums are not complete. */
  readonly rows: readonly UsageRow[];
  /** Absent when nothing follows. */
  readonly next?: UsageCursor | undefined;
  /** How much of the work is done, from 0 to 1; an estimate. */
  readonly progress: number;
}

/** A percentile is exact for at most this many durations in a group, and absent above. */
export const MOST_DURATIONS = 4_000_000;

/** The most characters of a tool's name that tell tools apart; the rest is cut off. */
export const MOST_TOOL_NAME = 128;

const NAMES = ["day", "model", "provider", "owner", "session", "tool"] as const;
const KNOWN = `${NAMES.join(", ")} and label:KEY are known`;
const MOST_NAMES = 8;
/** Longer texts are not looked at, so that an error does not repeat them. */
export const MOST_GROUP_BY = 4096;

/**
 * Reads names separated by commas, with spaces around them or without. A key with a comma, a quotation mark or spaces
 * at its ends stands in quotation marks, in which a quotation mark is written twice: `label:"a,b"`.
 */
export function parseGroupBy(text: string): UsageGroup[] {
  if (text.length > MOST_GROUP_BY) {
    throw invalidArgument(`group_by has ${text.length} characters; at most ${MOST_GROUP_BY} are allowed`);
  }
  if (text.trim() === "") return [];
  const groups = splitNames(text).map(parseName);
  if (groups.length > MOST_NAMES) {
    throw invalidArgument(`group_by has ${groups.length} names; at most ${MOST_NAMES} are allowed`);
  }
  const names = groups.map(groupName);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw invalidArgument(`group_by names ${twice} twice`);
  return groups;
}

/** The name of a group as `parseGroupBy` reads it. */
export function groupName(group: UsageGroup): string {
  if (group.by !== "label") return group.by;
  const { key } = group;
  return /[,"]/.test(key) || key.trim() !== key ? `label:"${key.replaceAll('"', '""')}"` : `label:${key}`;
}

/** The names of some groups as `group_by` has them. */
export function groupByText(groups: readonly UsageGroup[]): string {
  return groups.map(groupName).join(",");
}

/** Orders groups value by value, by UTF-16 code units; null comes first. */
export function compareValues(a: GroupValues, b: GroupValues): number {
  for (const [i, value] of a.entries()) {
    const other = b[i] ?? null;
    if (value === other) continue;
    if (value === null || other === null) return value === null ? -1 : 1;
    return value < other ? -1 : 1;
  }
  return 0;
}

/** The value of the first name of this kind; undefined when the sums are not grouped by it. */
export function valueBy(by: UsageGroup["by"], groups: readonly UsageGroup[], values: GroupValues): string | undefined {
  const index = groups.findIndex((group) => group.by === by);
  return index < 0 ? undefined : (values[index] ?? "");
}

/** The labels that tell a group apart, without those that its sessions do not have. */
export function labelValues(groups: readonly UsageGroup[], values: GroupValues): Labels {
  const entries = groups.flatMap((group, i): [string, string][] => {
    const value = values[i] ?? null;
    return group.by === "label" && value !== null ? [[group.key, value]] : [];
  });
  return Object.fromEntries(entries);
}

/** Checks a time zone; `field` is its name in errors. */
export function checkTimeZone(field: string, timeZone: string | undefined): void {
  if (timeZone === undefined || timeZone === "") return;
  // Offsets such as +01:00 are no names of places, although newer runtimes take them.
  const isName = timeZone.length <= 128 && !/^[+-]/.test(timeZone);
  if (isName && isKnownZone(timeZone)) return;
  const shown = JSON.stringify(timeZone.slice(0, 128));
  throw invalidArgument(`${field} is ${shown}; it must be a name of the IANA database, such as Europe/Berlin`);
}

function isKnownZone(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone });
    return true;
  } catch {
    return false;
  }
}

/** Splits at the commas outside of quotation marks. */
function splitNames(text: string): string[] {
  const names: string[] = [];
  let isQuoted = false;
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '"') isQuoted = !isQuoted;
    if (text[i] !== "," || isQuoted) continue;
    names.push(text.slice(start, i));
    start = i + 1;
  }
  if (isQuoted) throw invalidArgument(`group_by is ${JSON.stringify(text)}; a quotation mark is not closed`);
  return [...names, text.slice(start)];
}

function parseName(given: string): UsageGroup {
  const name = given.trim();
  const by = NAMES.find((known) => known === name);
  if (by !== undefined) return { by };
  if (!name.startsWith("label:")) {
    throw invalidArgument(`group_by names ${JSON.stringify(name)}; ${KNOWN}`);
  }
  const key = unquoted(name.slice("label:".length));
  if (key === undefined) {
    throw invalidArgument(
      `group_by names ${JSON.stringify(name)}; a key in quotation marks is written label:"KEY", with "" for "`,
    );
  }
  if (key === "") throw invalidArgument("group_by names a label without a key");
  if (key.includes("=") || hasControl(key)) {
    throw invalidArgument(`group_by names ${JSON.stringify(name)}; no key of a label has "=" or control characters`);
  }
  return { by: "label", key };
}

/** The text that stands in quotation marks, or without any; undefined if they are in the wrong places. */
function unquoted(text: string): string | undefined {
  if (!text.includes('"')) return text;
  if (!/^"(?:[^"]|"")*"$/.test(text)) return undefined;
  return text.slice(1, -1).replaceAll('""', '"');
}
