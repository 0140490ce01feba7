import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { InvalidArgumentError, Option } from "commander";
import { isScope, type Scope } from "../api/api-method.js";
import type { SearchScope } from "../domain/search.js";
import { exactMicros } from "../domain/validate-page.js";

/** The values that commander has read, by camel-case flag name. */
export type Flags = Record<string, unknown>;

/** Makes a flag that can also be given as an environment variable, SESSION_POOL_ and its name in capitals. */
export function flag(names: string, description: string): Option {
  const option = new Option(names, description);
  return option.env(`SESSION_POOL_${option.name().replaceAll("-", "_").toUpperCase()}`);
}

/** The name under which commander keeps the value of a flag. */
export function camel(name: string): string {
  return name.replace(/-(\w)/g, (_dash, letter: string) => letter.toUpperCase());
}

/** Parses the scope of a key. */
export function parseScope(text: string): Scope {
  if (isScope(text)) return text;
  throw new InvalidArgumentError("It must be read, write or admin.");
}

export function parseText(text: string): string {
  if (text === "") throw new InvalidArgumentError("It must not be empty.");
  return text;
}

/** Parses a time as RFC 3339 writes it, or a day in UTC, into microseconds since 1970. */
export function parseTime(text: string): number {
  const micros = momentMicros(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00Z` : text);
  if (micros !== undefined) return micros;
  throw new InvalidArgumentError("It must be a time such as 2026-05-04T09:30:00Z or 2026-05-04.");
}

const MOMENT = /^(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?)(?:(?<=:\d\d:\d\d)\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

/**
 * A bound of a list in microseconds since 1970, of a text as RFC 3339 has it, whose seconds may be missing. It is
 * rounded up, because what is listed has whole microseconds, and clamped to what can be counted exactly. Undefined for
 * another text.
 */
export function momentMicros(text: string): number | undefined {
  const [, local = "", fraction = "", zone = ""] = MOMENT.exec(text.toUpperCase()) ?? [];
  const ms = Date.parse(local + zone);
  // Date.parse takes 30 February as 2 March, and 24:00 as 0:00 of the next day.
  if (Number.isNaN(ms) || !new Date(`${local}Z`).toISOString().startsWith(local)) return undefined;
  return exactMicros(ms * 1000 + Math.ceil(Number(fraction.padEnd(9, "0")) / 1000));
}

export function parseWorkers(text: string): number {
  return text === "auto" ? availableParallelism() : positive(text);
}

function parseList(text: string): string[] {
  const items = text.split(",").map((item) => item.trim());
  return items.filter((item) => item !== "");
}

export function parseHosts(text: string): readonly string[] {
  const hosts = parseList(text);
  for (const host of hosts) {
    if (!/^(?:[\w.-]+|\[[0-9a-f:.]+\])$/i.test(host))
      throw new InvalidArgumentError(`${host} is not a host such as sessions.example.com, without a port.`);
  }
  return hosts;
}

export function parseOrigins(text: string): readonly string[] {
  const origins = parseList(text);
  for (const origin of origins) {
    const isOrigin = origin === "*" || (URL.canParse(origin) && new URL(origin).origin === origin);
    if (!isOrigin) throw new InvalidArgumentError(`${origin} is not an origin such as https://example.com.`);
  }
  return origins;
}

/**
 * What is searched. The flag was a switch, which an environment variable set whatever its value was; the usual ones of
 * those still mean `text`.
 */
export function parseSearchScope(text: string): SearchScope {
  if (text === "text" || text === "all") return text;
  if (text === "" || text === "1" || text === "true") return "text";
  throw new InvalidArgumentError("It must be text or all.");
}

export function positive(text: string): number {
  const value = wholeNumber(text);
  if (value === 0) throw new InvalidArgumentError("It must be above 0.");
  return value;
}

/**
 * Node fires a timer of more than 24 days at once. The limit leaves room for waits that are lengthened by a tenth.
 */
const LONGEST_WAIT_DAYS = 20;

/** Parses a time that something waits. */
export function seconds(text: string): number {
  return waited(positive(text), 1);
}

/** Parses a time that something waits, where 0 has a meaning of its own. */
export function secondsOrZero(text: string): number {
  return waited(wholeNumber(text), 1);
}

export function milliseconds(text: string): number {
  return waited(positive(text), 1000);
}

function waited(value: number, perSecond: number): number {
  const most = LONGEST_WAIT_DAYS * 24 * 60 * 60 * perSecond;
  if (value <= most) return value;
  throw new InvalidArgumentError(`It must be at most ${most}, which is ${LONGEST_WAIT_DAYS} days.`);
}

export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) throw new InvalidArgumentError("It must be a whole number.");
  return value;
}

export function readLine(name: string, path: string): string {
  let text: string;
  try {
    text = readFileSync(path, "utf8").trim();
  } catch (cause) {
    throw new Error(`${name} cannot be read: ${(cause as Error).message}`, { cause });
  }
  if (text === "" || text.includes("\n")) throw new Error(`${name}: ${path} must hold one line`);
  return text;
}
