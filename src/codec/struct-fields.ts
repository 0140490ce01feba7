import { type DescField, type DescMessage, type JsonObject, type Message, ScalarType } from "@bufbuild/protobuf";

type Fields = Record<string, unknown>;
type ConvertStruct = (value: unknown, field: string) => unknown;
type ConvertField = (value: unknown, convertStruct: ConvertStruct) => unknown;

/** The fields of a message type that are or contain Structs or maps, and how to convert each. */
type Plan = readonly { readonly name: string; readonly convert: ConvertField }[];

const STRUCT = "google.protobuf.Struct";

/**
 * Converts the Structs anywhere inside messages of the given types, and maps from text to scalars into lists of entries
 * and back; see `losslessTypes`.
 */
export class StructFields {
  readonly #plans = new Map<string, Plan>();

  constructor(types: Iterable<DescMessage>) {
    for (const type of types) this.#plan(type);
  }

  /**
   * Returns the message itself if it contains no Struct and no map, otherwise a copy of the parts that change. Never
   * changes its input.
   */
  convert<M extends Message>(message: M, convertStruct: (struct: JsonObject) => Uint8Array): M;
  convert<M extends Message>(message: M, convertStruct: (bytes: Uint8Array, field: string) => JsonObject): M;
  convert<M extends Message>(message: M, convertStruct: (value: never, field: string) => unknown): M {
    const plan = this.#plans.get(message.$typeName);
    return plan === undefined ? message : (convertFields(plan, message, convertStruct as ConvertStruct) as M);
  }

  #plan(type: DescMessage): Plan {
    const known = this.#plans.get(type.typeName);
    if (known !== undefined) return known;
    const plan: { name: string; convert: ConvertField }[] = [];
    // Set before it is complete, for types that contain themselves.
    this.#plans.set(type.typeName, plan);
    for (const field of type.fields) {
      const convert = this.#fieldConverter(field);
      if (convert !== undefined) plan.push({ name: (field.oneof ?? field).localName, convert });
    }
    return plan;
  }

  #fieldConverter(field: DescField): ConvertField | undefined {
    if (isTextToScalar(field)) return entriesConverter(field);
    if (field.message === undefined) return undefined;
    const one = this.#messageConverter(field.message, field.name);
    if (one === undefined) return undefined;
    if (field.fieldKind === "map") {
      return (value, convertStruct) => convertMap(one, value as Fields, convertStruct);
    }
    if (field.fieldKind === "list")
      return (value, convertStruct) => convertList(one, value as unknown[], convertStruct);
    return field.oneof === undefined ? one : inOneof(field.localName, one);
  }

  #messageConverter(type: DescMessage, name: string): ConvertField | undefined {
    if (type.typeName === STRUCT) return (value, convertStruct) => convertStruct(value, name);
    if (type.typeName.startsWith("google.")) return undefined;
    const plan = this.#plan(type);
    if (plan.length === 0) return undefined;
    return (value, convertStruct) => convertFields(plan, value as Fields, convertStruct);
  }
}

function convertFields(plan: Plan, message: Fields, convertStruct: ConvertStruct): Fields {
  let copy: Fields | undefined;
  for (const { name, convert } of plan) {
    const value = message[name];
    if (value === undefined) continue;
    const converted = convert(value, convertStruct);
    if (converted === value) continue;
    copy ??= { ...message };
    copy[name] = converted;
  }
  return copy ?? message;
}

function convertList(one: ConvertField, list: readonly unknown[], convertStruct: ConvertStruct): readonly unknown[] {
  let copy: unknown[] | undefined;
  for (let i = 0; i < list.length; i++) {
    const converted = one(list[i], convertStruct);
    if (converted === list[i]) continue;
    copy ??= [...list];
    copy[i] = converted;
  }
  return copy ?? list;
}

function isTextToScalar(field: DescField): boolean {
  return (
    field.fieldKind === "map" &&
    field.mapKey === ScalarType.STRING &&
    field.mapKind === "scalar" &&
    field.scalar !== ScalarType.BYTES
  );
}

/** Converts a map to a list of entries, or such a list to a map. Of entries with the same key the last one counts. */
function entriesConverter({ parent, name }: DescField): ConvertField {
  const $typeName = `${parent.typeName}.${name.replace(/(?:^|_)(.)/g, (_, first: string) => first.toUpperCase())}Entry`;
  return (value) =>
    // fromEntries defines keys, whereas assignment would treat `__proto__` as the prototype.
    Array.isArray(value)
      ? Object.fromEntries(value.map((entry: Fields) => [entry.key, entry.value]))
      : Object.entries(value as Fields).map(([key, item]) => ({ $typeName, key, value: item }));
}

function convertMap(one: ConvertField, map: Fields, convertStruct: ConvertStruct): Fields {
  let copy: Fields | undefined;
  for (const key of Object.keys(map)) {
    const converted = one(map[key], convertStruct);
    if (converted === map[key]) continue;
    copy ??= { ...map };
    copy[key] = converted;
  }
  return copy ?? map;
}

function inOneof(name: string, one: ConvertField): ConvertField {
  return (value, convertStruct) => {
    const oneof = value as { case: string | undefined; value: unknown };
    if (oneof.case !== name) return value;
    const converted = one(oneof.value, convertStruct);
    return converted === oneof.value ? value : { case: name, value: converted };
  };
}
