import { type DescEnum, type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { comments } from "../../../../gen/comments.js";
import { DEFAULT_LIMITS } from "../../../domain/limits.js";
import { type Constraints, constraintsFor, isOutputOnly, isRequired, type Schema } from "./constraints.js";

/** Schemas of messages in their proto3 JSON form. Each is written once and then referred to by name. */
export class SchemaBook {
  readonly #schemas = new Map<string, Schema>();
  readonly #constraints: Constraints;

  constructor(constraints: Constraints = constraintsFor(DEFAULT_LIMITS)) {
    this.#constraints = constraints;
  }

  /** Returns a reference to the schema of a message, and adds the schema with everything it contains. */
  refer(desc: DescMessage): Schema {
    const known = WELL_KNOWN[desc.typeName];
    if (known) return known;
    if (!this.#schemas.has(desc.name)) {
      // Set before its fields are visited, because a message may contain itself.
      this.#schemas.set(desc.name, {});
      this.#schemas.set(desc.name, this.describe(desc));
    }
    return { $ref: `#/components/schemas/${desc.name}` };
  }

  /** The schema of a message without some of its fields. */
  describe(desc: DescMessage, without: ReadonlySet<DescField> = new Set()): Schema {
    const fields = desc.fields.filter((field) => !without.has(field));
    const required = fields.filter(isRequired).map((field) => field.jsonName);
    const choices = desc.oneofs.map((oneof) => ({
      oneOf: oneof.fields.map((field) => ({ required: [field.jsonName] })),
    }));
    return {
      type: "object",
      ...describedBy(commentOf(desc)),
      properties: Object.fromEntries(fields.map((field) => [field.jsonName, this.field(field)])),
      ...(required.length > 0 && { required }),
      ...(choices.length > 0 && { allOf: choices }),
      ...this.#constraints.ofMessage(desc),
      additionalProperties: false,
    };
  }

  /** The schema of a message that changes another one: it may leave out fields, and fields within its fields. */
  describeChange(desc: DescMessage): Schema {
    const { required, anyOf, ...schema } = this.describe(desc);
    const properties: Record<string, unknown> = { ...(schema.properties as Schema) };
    for (const field of desc.fields) {
      if (field.fieldKind !== "message" || WELL_KNOWN[field.message.typeName]) continue;
      properties[field.jsonName] = { ...this.describeChange(field.message), ...describedBy(commentOf(field)) };
    }
    return { ...schema, properties };
  }

  /** The schema of a field with its comment. */
  field(field: DescField): Schema {
    const readOnly = isOutputOnly(field) && { readOnly: true };
    return { ...this.value(field), ...describedBy(commentOf(field)), ...readOnly };
  }

  /** The schema of a field's value. */
  value(field: DescField): Schema {
    return { ...this.#typeOf(field), ...this.#constraints.ofField(field) };
  }

  /** The schema of the value of a field that cannot be left out. */
  requiredValue(field: DescField): Schema {
    return { ...this.#typeOf(field), ...this.#constraints.ofRequired(field) };
  }

  #typeOf(field: DescField): Schema {
    switch (field.fieldKind) {
      case "scalar":
        return scalarSchema(field.scalar);
      case "message":
        return this.refer(field.message);
      case "enum":
        return enumSchema(field.enum);
      case "list":
        return { type: "array", items: this.#element(field) };
      case "map":
        return { type: "object", additionalProperties: this.#element(field) };
    }
  }

  /** All schemas that were referred to, by name. */
  toJSON(): Record<string, Schema> {
    return Object.fromEntries([...this.#schemas].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #element(field: DescField & { fieldKind: "list" | "map" }): Schema {
    const { message, scalar } = field;
    if (message) return this.refer(message);
    return scalar === undefined ? enumSchema(field.enum as DescEnum) : scalarSchema(scalar);
  }
}

function enumSchema(desc: DescEnum): Schema {
  return { type: "string", enum: desc.values.map(({ name }) => name) };
}

/** The comment in the .proto file; empty when there is none. */
export function commentOf(desc: DescMessage | DescField | { readonly typeName: string }): string {
  const name =
    "typeName" in desc ? desc.typeName : `${(desc as DescField).parent.typeName}.${(desc as DescField).name}`;
  return comments[name] ?? "";
}

export function describedBy(description: string): Schema {
  return description === "" ? {} : { description };
}

const WELL_KNOWN: Readonly<Record<string, Schema>> = {
  "google.protobuf.Timestamp": { type: "string", format: "date-time" },
  "google.protobuf.Duration": { type: "string", pattern: "^-?[0-9]{1,12}([.][0-9]{1,9})?s$" },
  "google.protobuf.FieldMask": { type: "string", pattern: "^[A-Za-z.]+(,[A-Za-z.]+)*$" },
  "google.protobuf.Struct": { type: "object", additionalProperties: true },
};

function scalarSchema(scalar: ScalarType): Schema {
  switch (scalar) {
    case ScalarType.STRING:
      return { type: "string" };
    case ScalarType.BOOL:
      return { type: "boolean" };
    case ScalarType.BYTES:
      return { type: "string", contentEncoding: "base64" };
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return { type: ["number", "string"] };
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return { type: "integer", format: "int32" };
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return { type: "integer", minimum: 0, maximum: 4_294_967_295 };
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return { type: "string", format: "int64", pattern: "^-?[0-9]+$", examples: ["1"] };
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return { type: "string", format: "int64", pattern: "^[0-9]+$", examples: ["1"] };
  }
}
