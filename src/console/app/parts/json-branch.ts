import { isObject } from "../../../parts/fields.js";
import type { Json, JsonObject } from "../api/types.js";

/** What has further values in it. */
export type Branch = readonly Json[] | JsonObject;

/** A number that JavaScript's numbers cannot hold, which the adapters store as `{"$number": "…"}`. */
export class Digits {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** What was stored as `{"$json": "…"}`. It is parsed once, so that a branch stays the same when it is shown again. */
const parsed = new WeakMap<Branch, Json>();

/** A branch with more entries is closed at first, unless it is the outermost one. */
const MAX_ENTRIES = 8;
/** The branches in a branch with more entries are all closed at first. */
const MAX_SIBLINGS = 11;
/** Limits for all that is open at first, whatever the value. */
const MAX_LEVELS = 4;
const MAX_VALUES = 200;

export function isBranch(value: Json): value is Branch {
  return typeof value === "object" && value !== null;
}

/** Returns what an envelope of the adapters stands for: digits, or a value that was too large for a Struct. */
export function shownValue(value: Json): Json | Digits {
  if (!isObject(value) || sizeOf(value) !== 1) return value;
  const { $number, $json } = value;
  if (typeof $number === "string") return new Digits($number);
  if (typeof $json !== "string") return value;
  if (!parsed.has(value)) parsed.set(value, parse($json) ?? value);
  return parsed.get(value) ?? value;
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

export function sizeOf(branch: Branch): number {
  return Array.isArray(branch) ? branch.length : Object.keys(branch).length;
}

/** Returns the first entries, `count` at most. */
export function childrenOf(branch: Branch, count: number): readonly (readonly [name: string, value: Json])[] {
  if (!isObject(branch)) return branch.slice(0, count).map((value, i) => [String(i), value]);
  return Object.keys(branch)
    .slice(0, count)
    .map((name) => [name, branch[name] as Json]);
}

/** Returns the branches that a reader sees open at first: whole levels, as long as they are few and small. */
export function openAtFirst(outermost: Branch): ReadonlySet<Branch> {
  const open = new Set<Branch>();
  let values = 0;
  let level: readonly Branch[] = [outermost];
  for (let depth = 0; depth < MAX_LEVELS && values <= MAX_VALUES; depth++) {
    for (const branch of level) open.add(branch);
    level = level
      .filter((branch) => sizeOf(branch) <= MAX_SIBLINGS)
      .flatMap((branch) => childrenOf(branch, MAX_SIBLINGS).map(([, child]) => child))
      .filter((child) => isBranch(child) && sizeOf(child) <= MAX_ENTRIES) as Branch[];
    values += level.reduce((sum, branch) => sum + sizeOf(branch), 0);
  }
  return open;
}
