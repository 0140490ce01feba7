import { endWithin, sentBytes } from "./sent-bytes.js";

export interface Json {
  [key: string]: unknown;
}

/** Where a document goes on: at a character of one of its fields, which are counted from its beginning. */
export interface Place {
  readonly field: number;
  readonly character: number;
}

export const BEGINNING: Place = { field: 0, character: 0 };

export function placeOf(field: number, character: number): Place {
  return field === 0 && character === 0 ? BEGINNING : { field, character };
}

interface Field {
  /** The names and indexes that lead to it. */
  readonly path: readonly string[];
  readonly value: unknown;
}

/** Objects and lists whose fields are taken one by one. All others are a field of their own. */
const CONTAINERS: ReadonlySet<string> = new Set(["info", "message", "parts"]);
/** Fields that each piece repeats, because they tell whose it is. */
const NAMES: ReadonlySet<string> = new Set(["id", "role", "type"]);
/** Too little is not worth a piece of its own. */
const LEAST_BYTES = 512;
const LEAST_SLICE_BYTES = 16;
/** What `"textRange":{…}` takes, and what a field or a list around it takes at most. */
const RANGE_BYTES = 192;
const AROUND_BYTES = 96;

/**
 * Takes as much of a session, a message, a draft or a todo from a place on as fits in these bytes, at least 1 KiB.
 * `next` is where it goes on. A field that does not fit is given in pieces: a text under its name, any other as the
 * text of its JSON under `<name>Json`; `<name>Range` then says which characters of how many these are. Each part of a
 * message says its `index`.
 */
export function cutDocument(
  document: Json,
  from: Place,
  bytes: number,
): { readonly piece: Json; readonly next?: Place | undefined } {
  const fields = [...fieldsOf(document, [])];
  const piece: Json = {};
  let left = bytes;
  const add = (path: readonly string[], value: Json) => {
    left -= sentBytes(JSON.stringify(value)) + AROUND_BYTES;
    Object.assign(ownerIn(piece, path), value);
  };
  for (const { path, value } of namesFor(fields, from.field)) add(path, { [nameOf(path)]: value });
  const namesEnd = left;
  for (let at = from.field; at < fields.length; at++) {
    const { path, value } = fields[at] as Field;
    const begin = at === from.field ? from.character : 0;
    const whole = { [nameOf(path)]: value };
    if (begin === 0 && sentBytes(JSON.stringify(whole)) + AROUND_BYTES <= left) {
      add(path, whole);
      continue;
    }
    const text = textOf(value);
    const character = wholeCharacter(text, begin);
    if (left < LEAST_BYTES && left < namesEnd) return { piece, next: { field: at, character } };
    // A few characters in any case, so that reading on comes to an end.
    const to = endWithin(text, character, Math.max(LEAST_SLICE_BYTES, left - RANGE_BYTES - AROUND_BYTES));
    const name = typeof value === "string" ? nameOf(path) : `${nameOf(path)}Json`;
    add(path, { [name]: text.slice(character, to), [`${name}Range`]: { from: character, to, of: text.length } });
    if (to < text.length) return { piece, next: { field: at, character: to } };
  }
  return { piece };
}

function* fieldsOf(value: object, path: readonly string[]): Generator<Field> {
  for (const [name, field] of Object.entries(value)) {
    const isContainer = typeof field === "object" && field !== null && (Array.isArray(value) || CONTAINERS.has(name));
    if (isContainer) yield* fieldsOf(field, [...path, name]);
    else yield { path: [...path, name], value: field };
  }
}

/** The names of the message and of the part that a piece begins in. */
function namesFor(fields: readonly Field[], begin: number): readonly Field[] {
  const owner = fields[begin]?.path.slice(0, -1).join();
  return fields.slice(0, begin).filter(({ path }) => {
    const isNear = path.at(-2) === "info" || path.slice(0, -1).join() === owner;
    return isNear && NAMES.has(nameOf(path));
  });
}

/** The object of the piece that a field belongs to. Lists hold only what the piece has. */
function ownerIn(piece: Json, path: readonly string[]): Json {
  let owner: Json = piece;
  for (const [i, name] of path.slice(0, -1).entries()) {
    const isList = path[i - 1] === "parts";
    if (isList) {
      const list = owner as unknown as Json[];
      const index = Number(name);
      if (list.at(-1)?.index !== index) list.push({ index });
      owner = list.at(-1) as Json;
    } else {
      owner[name] ??= name === "parts" ? [] : {};
      owner = owner[name] as Json;
    }
  }
  return owner;
}

function nameOf(path: readonly string[]): string {
  return path.at(-1) as string;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The text may have changed since the place was told, so that a character stands there or the text is shorter. */
function wholeCharacter(text: string, at: number): number {
  const isInside = /^[\ud800-\udbff][\udc00-\udfff]/.test(text.slice(at - 1, at + 1));
  return Math.min(text.length, isInside ? at - 1 : at);
}
