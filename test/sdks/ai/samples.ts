/** What a schema of zod tells about itself. */
export interface ZodSchema {
  readonly _zod: { readonly def: ZodDefinition };
}

export interface ZodObject extends ZodSchema {
  readonly _zod: { readonly def: ZodDefinition & { readonly shape: Readonly<Record<string, ZodSchema>> } };
}

interface ZodDefinition {
  readonly type: string;
  readonly shape?: Readonly<Record<string, ZodSchema>>;
  readonly values?: readonly unknown[];
  readonly entries?: Readonly<Record<string, unknown>>;
  readonly checks?: readonly { readonly _zod: { readonly def: { readonly prefix?: string } } }[];
  readonly options?: readonly ZodSchema[];
  readonly innerType?: ZodSchema;
  readonly element?: ZodSchema;
  readonly valueType?: ZodSchema;
  readonly in?: ZodSchema;
  readonly out?: ZodSchema;
  readonly getter?: () => ZodSchema;
}

type Fields = Readonly<Record<string, unknown>>;

const ABSENT = Symbol("absent");

/** Values of fields whose schema is a function, or says less than the SDK expects. */
const VALUES: Fields = {
  url: "https://example.com/a.png",
  mediaType: "image/png",
  kind: "maker.compaction",
  "text.citations": [{ type: "citation", source: { type: "url", url: "https://example.com/" } }],
  "steering-message.parts": [{ type: "text", text: "Turn left" }],
};

/** Two values for an object with a `type`: one without the optional fields, and one with all of them. */
export function samplesOf(schema: ZodObject): Fields[] {
  const type = typeOf(schema);
  if (type === undefined) return [];
  return [false, true].map((isWhole) => sampleOf(schema, type, isWhole) as Fields);
}

/** The value of the field `type`; of a prefix such as `data-`, one that begins with it. */
export function typeOf({ _zod: { def } }: ZodObject): string | undefined {
  const type = def.shape.type?._zod.def;
  if (type?.type === "literal") return String(type.values?.[0]);
  if (type?.type === "custom") return "data-chart";
  const prefix = type?.checks?.map((check) => check._zod.def.prefix).find((text) => text !== undefined);
  return prefix === undefined ? undefined : `${prefix}chart`;
}

function sampleOf({ _zod: { def } }: ZodSchema, name: string, isWhole: boolean): unknown {
  switch (def.type) {
    case "object":
      return fieldsOf(def.shape ?? {}, name, isWhole);
    case "literal":
      return def.values?.[0];
    case "enum":
      return Object.values(def.entries ?? {}).at(-1);
    case "optional":
      return isWhole ? inner(def.innerType, name, isWhole) : ABSENT;
    case "string":
      return `${name} 京都`;
    case "boolean":
      return true;
    case "number":
      return 7;
    case "never":
      return ABSENT;
    case "record":
      return { maker: inner(def.valueType, name, isWhole) };
    case "array":
      return [inner(def.element, name, isWhole)];
    case "union":
      return inner(def.options?.[0], name, isWhole);
    case "lazy":
      return inner(def.getter?.(), name, isWhole);
    case "pipe":
      return inner(def.in?._zod.def.type === "unknown" ? def.out : def.in, name, isWhole);
    default:
      return { query: "azalea", list: [null, 1.5, "late"], none: {} };
  }
}

function inner(schema: ZodSchema | undefined, name: string, isWhole: boolean): unknown {
  return schema === undefined ? "any" : sampleOf(schema, name, isWhole);
}

function fieldsOf(shape: Readonly<Record<string, ZodSchema>>, type: string, isWhole: boolean): Fields {
  const fields = Object.entries(shape).map(([name, schema]): [string, unknown] => {
    if (name === "type") return [name, type];
    const value = sampleOf(schema, name, isWhole);
    return [name, value === ABSENT ? ABSENT : (VALUES[`${type}.${name}`] ?? VALUES[name] ?? value)];
  });
  return Object.fromEntries(fields.filter(([, value]) => value !== ABSENT));
}
