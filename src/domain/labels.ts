import { invalidArgument } from "./errors.js";
import type { Limits } from "./limits.js";
import { checkBytes, checkText, hasControl } from "./validate.js";
import { isPlainObject } from "./validate-struct.js";

/**
 * Short texts by which lists of sessions are filtered. The caller chooses the keys, which may be anything, even
 * `__proto__`: build labels as you build a JsonObject.
 */
export interface Labels {
  readonly [key: string]: string;
}

/** Each label as `key=value`, sorted. Filters and keys use this form; no key contains `=`. */
export function labelTexts(labels: Labels | undefined): readonly string[] {
  return Object.entries(labels ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .sort();
}

/** The labels that such texts name; undefined when there are none. */
export function labelsOf(texts: readonly string[]): Labels | undefined {
  return texts.length === 0 ? undefined : Object.fromEntries(texts.map(splitLabel));
}

/** Labels as records keep them: sorted, and absent when there are none. */
export function inOrder(labels: Labels | undefined): Labels | undefined {
  return labelsOf(labelTexts(labels));
}

/** Checks the number of labels and the length of every key and value. */
export function checkLabels(field: string, labels: Labels | undefined, limits: Limits): void {
  if (labels === undefined) return;
  if (!isPlainObject(labels)) throw invalidArgument(`${field} must be an object`);
  const entries = Object.entries(labels);
  checkCount(field, entries.length, limits);
  for (const [key, value] of entries) {
    checkKey(`A key of ${field}`, key, limits);
    checkValue(`${field}[${JSON.stringify(key)}]`, value, limits);
  }
}

/** Checks a filter of ListSessions: texts `key=value` with keys and values that a label may have. */
export function checkLabelFilter(texts: readonly string[], limits: Limits): void {
  checkCount("label", texts.length, limits);
  for (const [i, text] of texts.entries()) {
    const field = `label[${i}]`;
    checkText(field, text);
    if (!text.includes("=")) throw invalidArgument(`${field} is ${JSON.stringify(text)}; it must be key=value`);
    const [key, value] = splitLabel(text);
    checkKey(`The key of ${field}`, key, limits);
    checkValue(`The value of ${field}`, value, limits);
  }
}

function splitLabel(text: string): [key: string, value: string] {
  const at = text.indexOf("=");
  return [text.slice(0, at), text.slice(at + 1)];
}

function checkCount(field: string, count: number, limits: Limits): void {
  if (count <= limits.labels) return;
  throw invalidArgument(`${field} has ${count} entries; at most ${limits.labels} are allowed`);
}

function checkKey(field: string, key: string, limits: Limits): void {
  checkText(field, key);
  if (key === "") throw invalidArgument(`${field} is empty`);
  checkBytes(field, Buffer.byteLength(key), limits.labelKeyBytes);
  if (hasControl(key)) throw invalidArgument(`${field} must not contain control characters`);
  if (key.includes("=")) throw invalidArgument(`${field} must not contain "="; it is ${JSON.stringify(key)}`);
}

function checkValue(field: string, value: string, limits: Limits): void {
  checkText(field, value);
  checkBytes(field, Buffer.byteLength(value), limits.labelValueBytes);
}
