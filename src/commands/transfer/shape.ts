import type { JsonObject } from "../../domain/json.js";

/** Returns the value in its shape, without unknown fields; throws an Error that names the invalid field. */
export type Shape<T> = (value: unknown, path: string) => T;

type Fields<F extends Record<string, Shape<unknown>>> = { readonly [K in keyof F]: ReturnType<F[K]> };

export const string: Shape<string> = (value, path) =>
  typeof value === "string" ? value : refuse(path, "a string", value);

export const boolean: Shape<boolean> = (value, path) =>
  typeof value === "boolean" ? value : refuse(path, "true or false", value);

export function integer(least: number = Number.MIN_SAFE_INTEGER): Shape<number> {
  return (value, path) =>
    Number.isSafeInteger(value) && (value as number) >= least
      ? (value as number)
      : refuse(
          path,
          least === Number.MIN_SAFE_INTEGER ? "a whole number" : `a whole number of at least ${least}`,
          value,
        );
}

export function oneOf<const T extends string>(...choices: readonly T[]): Shape<T> {
  return (value, path) => choices.find((choice) => choice === value) ?? refuse(path, choices.join(" or "), value);
}

/** Returns a Struct itself, because a copy would lose keys such as `__proto__`. */
export const struct: Shape<JsonObject> = (value, path) =>
  isObject(value) ? (value as JsonObject) : refuse(path, "an object", value);

export function list<T>(shape: Shape<T>): Shape<readonly T[]> {
  return (value, path) => {
    if (!Array.isArray(value)) return refuse(path, "a list", value);
    return value.map((item, i) => shape(item, `${path}[${i}]`));
  };
}

/** An object whose keys were chosen by the caller. */
export function mapOf<T>(shape: Shape<T>): Shape<ReadonlyMap<string, T>> {
  return (value, path) => {
    if (!isObject(value)) return refuse(path, "an object", value);
    return new Map(Object.entries(value).map(([key, item]) => [key, shape(item, `${path}[${JSON.stringify(key)}]`)]));
  };
}

/** Absent and null become `instead`. */
export function optional<T, D>(shape: Shape<T>, instead: D): Shape<T | D> {
  return (value, path) => (value === undefined || value === null ? instead : shape(value, path));
}

export function object<F extends Record<string, Shape<unknown>>>(fields: F): Shape<Fields<F>> {
  const shapes = Object.entries(fields);
  return (value, path) => {
    if (!isObject(value)) return refuse(path, "an object", value);
    const named = (key: string) => (Object.hasOwn(value, key) ? value[key] : undefined);
    const pairs = shapes.map(([key, shape]) => [key, shape(named(key), path === "" ? key : `${path}.${key}`)]);
    return Object.fromEntries(pairs) as Fields<F>;
  };
}

/** Throws an Error that names a field of the value that its shape has left out. */
export function checkKnown(value: unknown, shaped: unknown, path: string): void {
  if (value === shaped) return;
  if (Array.isArray(value) && Array.isArray(shaped))
    for (const [i, item] of value.entries()) checkKnown(item, shaped[i], `${path}[${i}]`);
  if (!isObject(value) || !isObject(shaped)) return;
  for (const key of Object.keys(value)) {
    if (!Object.hasOwn(shaped, key)) throw new Error(`${path || "it"} has the unknown field ${JSON.stringify(key)}`);
    checkKnown(value[key], shaped[key], path === "" ? key : `${path}.${key}`);
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function refuse(path: string, wanted: string, value: unknown): never {
  const found = value === undefined ? "it is missing" : `it is ${shown(value)}`;
  throw new Error(`${path === "" ? "it" : path} must be ${wanted}, but ${found}`);
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (isObject(value)) return "an object";
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
