import { type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import { FieldError, invalidArgument } from "../../api/api-error.js";
import { messageReader } from "../../codec/json-reader.js";
import { fieldWriter, jsonMessageWriter, type MessageWriter } from "../../codec/json-writer.js";
import { tooManyValues, type ValueRoom } from "../../codec/value-room.js";
import { type Binding, findField } from "./binding.js";
import type { MatchedVariable } from "./router.js";
import { decodePercent, decodeSegments, parseQuery } from "./target.js";
import { differs, isTextual, setFromPath, setText, type TextField } from "./text-fields.js";

/** Turns HTTP into the request of one binding, and its response into JSON. */
export interface Transcoder {
  /** Decodes the path's variables. */
  readPath(variables: readonly MatchedVariable[]): TextField[];
  /** Reads the fields that the query sets, each of which is a value. Refuses those that the path or the body sets. */
  readQuery(query: string, path: readonly TextField[], room: ValueRoom): TextField[];
  /** `json` is the parsed body, undefined when there was none. */
  buildRequest(path: readonly TextField[], query: readonly TextField[], json: unknown): Message;
  readonly writeResponse: MessageWriter;
}

export function makeTranscoder(binding: Binding): Transcoder {
  const { desc, responseField } = binding;
  return {
    readPath: (variables) => variables.map((variable) => readVariable(binding, variable)),
    readQuery: (query, path, room) => (query === "" ? [] : readQuery(binding, parametersOf(query, room), path)),
    buildRequest: (path, query, json) => {
      const request = readBody(binding, json);
      for (const parameter of query) setText(request, desc.input, parameter);
      for (const variable of path) setVariable(request, desc.input, variable);
      return request;
    },
    writeResponse: responseField ? fieldWriter(responseField) : jsonMessageWriter(desc.output),
  };
}

function readVariable({ pathFields }: Binding, { fieldPath, rawText, multiple }: MatchedVariable): TextField {
  const text = multiple ? decodeSegments(rawText, fieldPath) : decodePercent(rawText, fieldPath);
  return { fields: pathFields.get(fieldPath) as DescField[], name: fieldPath, text };
}

function setVariable(request: Message, root: DescMessage, variable: TextField): void {
  const [field] = variable.fields;
  if (
    variable.fields.length > 1 ||
    field?.fieldKind !== "scalar" ||
    field.scalar !== ScalarType.STRING ||
    field.oneof
  ) {
    setFromPath(request, root, variable);
    return;
  }
  // The usual case, without reflection.
  const message = request as Message & Record<string, unknown>;
  const given = message[field.localName];
  if (given && given !== variable.text) throw differs(variable.name);
  message[field.localName] = variable.text;
}

function readBody({ desc, body }: Binding, json: unknown): Message {
  const newRequest = messageReader(desc.input);
  if (json === undefined) return newRequest({});
  if (body === "*") return newRequest(json);
  if (body?.fieldKind !== "message") return refuseMembers(newRequest({}), json);
  const request = newRequest({});
  (request as Message & Record<string, unknown>)[body.localName] = messageReader(body.message)(json);
  return request;
}

/** When nothing is bound to the body, `{}` has no content and is accepted. */
function refuseMembers(request: Message, json: unknown): Message {
  if (typeof json !== "object" || json === null || Array.isArray(json) || Object.keys(json).length > 0) {
    throw new FieldError("", "this method takes no body");
  }
  return request;
}

function parametersOf(query: string, room: ValueRoom): [name: string, text: string][] {
  const parameters = parseQuery(query);
  if (parameters.length > room.mostValues) throw tooManyValues(room.mostValues);
  room.holdValues(parameters.length);
  return parameters;
}

function readQuery(
  binding: Binding,
  given: readonly (readonly [name: string, text: string])[],
  path: readonly TextField[],
): TextField[] {
  const parameters: TextField[] = [];
  /** The first parameter of each field, so that a query with thousands of them takes no longer than its length. */
  const seen = new Map<string, TextField>();
  for (const [name, text] of given) {
    const fields = findField(binding.desc.input, name.split("."));
    const canonical = fields?.map((field) => field.name).join(".");
    const inPath = path.find((variable) => variable.name === canonical);
    if (!fields || (!inPath && isInBody(binding, fields)))
      throw invalidArgument(`Unknown query parameter ${JSON.stringify(name)}`);
    const parameter = { fields, name, text };
    for (const earlier of seen.values()) checkTogether(earlier, parameter);
    if (!seen.has(canonical as string)) seen.set(canonical as string, parameter);
    if (inPath && inPath.text !== text) throw differs(name);
    if (!isTextual(fields.at(-1) as DescField)) throw invalidArgument(`${name} cannot be a query parameter`);
    if (!inPath) parameters.push(parameter);
  }
  return parameters;
}

function isInBody({ body }: Binding, fields: readonly DescField[]): boolean {
  return body === "*" || (body !== undefined && body === fields[0]);
}

/** A parameter may be repeated only for a repeated field, and only one member of a oneof may be set. */
function checkTogether(earlier: TextField, later: TextField): void {
  const differing = later.fields.findIndex((field, index) => field !== earlier.fields[index]);
  const field = later.fields[differing];
  if (!field) {
    if (later.fields.at(-1)?.fieldKind !== "list")
      throw invalidArgument(`Query parameter ${JSON.stringify(later.name)} is repeated`);
  } else if (field.oneof && field.oneof === earlier.fields[differing]?.oneof) {
    throw invalidArgument(
      `Query parameters ${JSON.stringify(earlier.name)} and ${JSON.stringify(later.name)} exclude each other`,
    );
  }
}
