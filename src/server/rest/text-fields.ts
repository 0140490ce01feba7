import { type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { FieldError } from "../../api/api-error.js";
import { messageReader } from "../../codec/json-reader.js";
import { isWellKnown } from "./binding.js";

const PLAIN_DECIMAL = /^(0|-?[1-9][0-9]*)$/;

/** A field that a path or a query names, with its value as text. */
export interface TextField {
  /** The fields from the request down to the one that is set. */
  readonly fields: readonly DescField[];
  readonly name: string;
  readonly text: string;
}

/** Sets a field to a value given as text, or adds to a repeated field. A problem names the field. */
export function setText(message: Message, root: DescMessage, { fields, name, text }: TextField): void {
  const field = fields.at(-1) as DescField;
  if (fields.length === 1 && (field.fieldKind === "scalar" || field.fieldKind === "enum") && !field.oneof) {
    // The usual case, without reflection.
    const read = readAlone(field, name, toJson(field, name, text)) as Message & Record<string, unknown>;
    (message as Message & Record<string, unknown>)[field.localName] = read[field.localName];
    return;
  }
  const parent = parentOf(reflect(root, message), fields);
  const value = readText(field, name, text);
  if (field.fieldKind === "list") parent.get(field).add(value);
  else parent.set(field, value);
}

/** Sets a field from the path; refuses a different value from the body. */
export function setFromPath(message: Message, root: DescMessage, { fields, name, text }: TextField): void {
  const field = fields.at(-1) as DescField;
  const parent = parentOf(reflect(root, message), fields);
  const value = readText(field, name, text);
  if (parent.isSet(field) && parent.get(field) !== value) throw differs(name);
  parent.set(field, value);
}

export function differs(name: string): FieldError {
  return new FieldError(name, "the path says otherwise");
}

function parentOf(root: ReflectMessage, fields: readonly DescField[]): ReflectMessage {
  let parent = root;
  for (const field of fields.slice(0, -1)) {
    if (field.fieldKind !== "message") throw new Error(`${field} has no fields`);
    if (!parent.isSet(field)) parent.set(field, reflect(field.message));
    parent = parent.get(field) as ReflectMessage;
  }
  return parent;
}

/** The value in the form that `ReflectMessage.set` takes. */
function readText(field: DescField, name: string, text: string): unknown {
  const json = toJson(field, name, text);
  const holder = readAlone(field, name, field.fieldKind === "list" ? [json] : json);
  const value = reflect(field.parent, holder).get(field);
  return field.fieldKind === "list" ? [...(value as Iterable<unknown>)][0] : value;
}

/** Reads a message that holds only this field. */
function readAlone(field: DescField, name: string, json: unknown): Message {
  try {
    return messageReader(field.parent)({ [field.name]: json });
  } catch (error) {
    if (!(error instanceof FieldError)) throw error;
    throw new FieldError(name + error.path.slice(field.name.length), error.reason);
  }
}

/** Text is stricter than JSON: numbers must be plain decimals. */
function toJson(field: DescField, name: string, text: string): string | boolean {
  switch ("scalar" in field ? field.scalar : undefined) {
    case ScalarType.BOOL:
      if (text !== "true" && text !== "false")
        throw new FieldError(name, `expected true or false, got ${JSON.stringify(text)}`);
      return text === "true";
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      if (!PLAIN_DECIMAL.test(text))
        throw new FieldError(name, `expected a plain decimal integer, got ${JSON.stringify(text)}`);
      return text;
    default:
      return text;
  }
}

/** Whether the field can be set from text: scalars, lists of them, and messages whose JSON form is a string. */
export function isTextual(field: DescField): boolean {
  switch (field.fieldKind) {
    case "message":
      return isWellKnown(field.message) && !/\.(Struct|Value|ListValue|Any|Empty)$/.test(field.message.typeName);
    case "list":
      return field.listKind !== "message";
    case "map":
      return false;
    default:
      return true;
  }
}
