import {
  type DescField,
  type DescMessage,
  type DescMethod,
  getOption,
  hasOption,
  ScalarType,
} from "@bufbuild/protobuf";
import { http as httpOption } from "../../../gen/google/api/annotations_pb.js";
import type { HttpRule } from "../../../gen/google/api/http_pb.js";
import { parseTemplate } from "./template.js";

/** One way to call an RPC over HTTP, as its `google.api.http` option describes. */
export interface Binding {
  readonly desc: DescMethod;
  readonly httpMethod: string;
  readonly template: string;
  /** What the body sets: the whole request (`*`), one field, or nothing. */
  readonly body: "*" | DescField | undefined;
  /** The field of the response that becomes the answer; the whole response when undefined. */
  readonly responseField: DescField | undefined;
  /** Whether the body or the answer is the bytes of a stream, rather than JSON. */
  readonly transfer: "upload" | "download" | undefined;
  /** The fields that the path sets, by their path in the template. */
  readonly pathFields: ReadonlyMap<string, readonly DescField[]>;
}

/** The bindings of an RPC, the primary one first; empty without the option. Throws an Error that names the RPC. */
export function readBindings(desc: DescMethod): Binding[] {
  if (!hasOption(desc, httpOption)) return [];
  const rule = getOption(desc, httpOption);
  if (rule.additionalBindings.some((other) => other.additionalBindings.length > 0)) {
    throw new Error(`${desc}: an additional binding cannot have additional bindings`);
  }
  return [rule, ...rule.additionalBindings].map((one) => readBinding(desc, one));
}

function readBinding(desc: DescMethod, rule: HttpRule): Binding {
  const { httpMethod, template } = readPattern(desc, rule);
  if (rule.body !== "" && httpMethod === "GET") throw new Error(`${desc}: GET has no body`);
  const variables = parseTemplate(template).variables;
  const body =
    rule.body === "*" || rule.body === ""
      ? ((rule.body || undefined) as "*" | undefined)
      : readBodyField(desc, rule.body);
  const responseField = rule.responseBody === "" ? undefined : topField(desc, desc.output, rule.responseBody);
  return {
    desc,
    httpMethod,
    template,
    body,
    responseField,
    transfer: readTransfer(desc, body, responseField),
    pathFields: new Map(variables.map(({ fieldPath }) => [fieldPath, readPathField(desc, fieldPath)])),
  };
}

function readPattern(desc: DescMethod, { pattern }: HttpRule): { httpMethod: string; template: string } {
  switch (pattern.case) {
    case undefined:
      throw new Error(`${desc}: a binding has no path`);
    case "custom":
      if (!/^([A-Z]+|\*)$/.test(pattern.value.kind)) throw new Error(`${desc}: bad HTTP method ${pattern.value.kind}`);
      return { httpMethod: pattern.value.kind, template: pattern.value.path };
    default:
      return { httpMethod: pattern.case.toUpperCase(), template: pattern.value };
  }
}

function readBodyField(desc: DescMethod, name: string): DescField {
  const field = topField(desc, desc.input, name);
  if (field.fieldKind !== "message" && !isBytes(field)) throw new Error(`${desc}: body ${name} is not a message`);
  return field;
}

/** Only a stream can have a body of bytes, so that no message has to hold all of them. */
function readTransfer(
  desc: DescMethod,
  body: Binding["body"],
  responseField: DescField | undefined,
): Binding["transfer"] {
  const isUpload = body !== undefined && body !== "*" && isBytes(body);
  if (isUpload !== (desc.methodKind === "client_streaming")) {
    throw new Error(`${desc}: the body of a client stream, and of nothing else, is a field of bytes`);
  }
  if (isUpload) return "upload";
  if (responseField === undefined || !isBytes(responseField)) return undefined;
  if (desc.methodKind === "server_streaming") return "download";
  throw new Error(`${desc}: the answer is a field of bytes, but ${desc} is no stream`);
}

function isBytes({ fieldKind, scalar }: DescField): boolean {
  return fieldKind === "scalar" && scalar === ScalarType.BYTES;
}

function readPathField(desc: DescMethod, fieldPath: string): DescField[] {
  const fields = findField(desc.input, fieldPath.split("."));
  const last = fields?.at(-1);
  if (!fields || !last) throw new Error(`${desc}: the path names ${fieldPath}, which ${desc.input} lacks`);
  if (last.fieldKind !== "scalar" && last.fieldKind !== "enum") throw new Error(`${desc}: the path cannot set ${last}`);
  return fields;
}

function topField(desc: DescMethod, message: DescMessage, name: string): DescField {
  const field = message.fields.find((one) => one.name === name);
  if (!field) throw new Error(`${desc}: ${message} has no field ${name}`);
  return field;
}

/** The fields along a dotted name (in proto or JSON names). Undefined when there is no such field. */
export function findField(message: DescMessage, names: readonly string[]): DescField[] | undefined {
  const fields: DescField[] = [];
  let parent: DescMessage | undefined = message;
  for (const name of names) {
    const field: DescField | undefined = parent?.fields.find((one) => one.name === name || one.jsonName === name);
    if (!field) return undefined;
    fields.push(field);
    parent = field.fieldKind === "message" && !isWellKnown(field.message) ? field.message : undefined;
  }
  return fields;
}

/** Whether the type has a special JSON form, so that its fields cannot be named from outside. */
export function isWellKnown(message: DescMessage): boolean {
  return message.typeName.startsWith("google.protobuf.");
}
