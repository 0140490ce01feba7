import { type DescField, getOption } from "@bufbuild/protobuf";
import { resumption } from "../../../../gen/sessionpool/v1/options_pb.js";
import type { ApiMethod } from "../../../api/method-table.js";
import { DEFAULT_LIMITS } from "../../../domain/limits.js";
import { type Binding, readBindings } from "../binding.js";
import { STREAM_TYPES } from "../stream.js";
import { isTextual } from "../text-fields.js";
import { constraintsFor, isRequired, type Schema } from "./constraints.js";
import { ERROR_SCHEMA, errorResponses, referErrors } from "./errors.js";
import { exampleBody, exampleInPath, exampleInQuery } from "./examples.js";
import { commentOf, describedBy, SchemaBook } from "./schema.js";
import { downloadAnswers, isQueryField, transferHeaders, UPLOADED_BODY } from "./transfers.js";

const DESCRIPTION = [
  "Sessions, their messages and one todo list as plain HTTP and JSON (proto3 JSON: 64-bit integers are strings).",
  "HEAD is answered wherever GET is, OPTIONS names the methods of a path. Bodies may be compressed with gzip or br,",
  "and answers are when `Accept-Encoding` asks for it. Unknown query parameters and JSON fields are refused.",
].join(" ");

const TIMEOUT_PARAMETERS: Readonly<Record<string, Schema>> = {
  GrpcTimeout: {
    name: "Grpc-Timeout",
    in: "header",
    description: "How long the client waits: up to 8 digits and a unit of `H`, `M`, `S`, `m`, `u`, `n`.",
    schema: { type: "string", pattern: "^[0-9]{1,8}[HMSmun]$" },
  },
  ConnectTimeoutMs: {
    name: "Connect-Timeout-Ms",
    in: "header",
    description: "The same in milliseconds.",
    schema: { type: "string", pattern: "^[0-9]{1,10}$" },
  },
};

/** Describes, as OpenAPI 3.1, what `createRestHandler` serves for these methods. */
export function openApiDocument(methods: readonly ApiMethod[], version = "1", limits = DEFAULT_LIMITS): object {
  const book = new SchemaBook(constraintsFor(limits));
  const paths: Record<string, Record<string, Schema>> = {};
  const served = methods.filter(({ desc, grpcOnly }) => !grpcOnly && readBindings(desc).length > 0);
  for (const { desc } of served) {
    for (const [index, binding] of readBindings(desc).entries()) {
      const path = binding.template.replace(
        /\{([^}=]+)[^}]*\}/g,
        (_, name: string) => `{${parameterName(binding, name)}}`,
      );
      const operations = paths[path] ?? {};
      paths[path] = operations;
      operations[binding.httpMethod.toLowerCase()] = describeOperation(binding, index, book);
    }
  }
  const services = new Set(served.map(({ desc }) => desc.parent));
  return {
    openapi: "3.1.0",
    info: {
      title: "session-pool",
      version,
      description: DESCRIPTION,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    // Relative to the document, which a proxy may have put below a path of its own.
    servers: [{ url: "." }],
    tags: [...services].map((service) => ({ name: service.name, ...describedBy(commentOf(service)) })),
    security: [{ bearer: [] }, {}],
    paths,
    components: {
      schemas: { Error: ERROR_SCHEMA, ...book.toJSON() },
      parameters: TIMEOUT_PARAMETERS,
      responses: errorResponses(),
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          description: "An API key, a JWT or a ticket; none where the server has no keys.",
        },
      },
    },
  };
}

function describeOperation(binding: Binding, index: number, book: SchemaBook): Schema {
  const { desc } = binding;
  const comment = commentOf({ typeName: `${desc.parent.typeName}.${desc.name}` });
  const requestBody = describeBody(binding, book);
  return {
    operationId: index === 0 ? desc.localName : `${desc.localName}${index + 1}`,
    tags: [desc.parent.name],
    summary: comment.split(/\.\s/, 1)[0]?.replace(/\.$/, "").replace(/\s+/g, " ") ?? desc.name,
    ...describedBy(comment),
    parameters: describeParameters(binding, book),
    ...(requestBody && { requestBody }),
    responses: {
      ...(binding.transfer === "download" ? downloadAnswers() : { 200: describeAnswer(binding, book) }),
      ...referErrors(`${comment} ${commentOf(desc.parent)}`, {
        hasBody: requestBody !== undefined,
        hasRanges: binding.transfer === "download",
      }),
      default: { $ref: "#/components/responses/Error" },
    },
  };
}

function describeParameters(binding: Binding, book: SchemaBook): Schema[] {
  const inPath = [...binding.pathFields].map(([name, fields]) => {
    const field = fields.at(-1) as DescField;
    const shape = { schema: book.requiredValue(field), example: exampleInPath(field) };
    return {
      name: parameterName(binding, name),
      in: "path",
      required: true,
      ...describedBy(commentOf(field)),
      ...shape,
    };
  });
  const inQuery = queryFields(binding).map((field) => ({
    name: field.jsonName,
    in: "query",
    ...describeParameter(field, book),
  }));
  const inHeader = Object.keys(TIMEOUT_PARAMETERS).map((name) => ({ $ref: `#/components/parameters/${name}` }));
  return [...inPath, ...inQuery, ...inHeader, ...transferHeaders(binding), ...lastEventId(binding)];
}

/** The header by which a stream resumes, if the `resumption` option of its method names a field for that. */
function lastEventId({ desc }: Binding): Schema[] {
  const { token } = getOption(desc, resumption);
  const field = desc.input.fields.find(({ name }) => name === token);
  if (field === undefined) return [];
  const description = `With \`text/event-stream\`: the id of the last event received, to go on after it. \`${field.jsonName}\` wins.`;
  return [{ name: "Last-Event-ID", in: "header", description, schema: { type: "string" } }];
}

function describeParameter(field: DescField, book: SchemaBook): Schema {
  const schema = book.value(field);
  const example = exampleInQuery(field);
  return {
    ...describedBy(commentOf(field)),
    ...(isRequired(field) && { required: true }),
    schema,
    ...(example !== undefined && { example }),
  };
}

/** The JSON name, which generated clients expect, although the path template has `session_id`. */
function parameterName({ pathFields }: Binding, fieldPath: string): string {
  return (pathFields.get(fieldPath) ?? []).map((field) => field.jsonName).join(".");
}

function queryFields(binding: Binding): DescField[] {
  const { desc, body, pathFields } = binding;
  if (body === "*") return [];
  const fields = desc.input.fields.filter((field) => field !== body && !pathFields.has(field.name));
  return fields.filter((field) => isTextual(field) && isQueryField(binding, field));
}

function describeBody(binding: Binding, book: SchemaBook): Schema | undefined {
  const { desc, body } = binding;
  if (body === undefined) return undefined;
  if (binding.transfer === "upload") return UPLOADED_BODY;
  const schema = body === "*" ? describeRequest(binding, book) : describeBodyField(binding.httpMethod, body, book);
  const example = exampleBody(desc.input) ?? {};
  return {
    required: body !== "*" || "required" in schema || "allOf" in schema,
    ...(body !== "*" && describedBy(commentOf(body))),
    content: { "application/json": { schema, example } },
  };
}

/** The request without what the path sets. */
function describeRequest({ desc, pathFields }: Binding, book: SchemaBook): Schema {
  const inPath = [...pathFields.values()].filter(({ length }) => length === 1).map(([field]) => field as DescField);
  return book.describe(desc.input, new Set(inPath));
}

function describeBodyField(httpMethod: string, field: DescField, book: SchemaBook): Schema {
  return httpMethod === "PATCH" && field.message ? book.describeChange(field.message) : book.value(field);
}

function describeAnswer(binding: Binding, book: SchemaBook): Schema {
  const { desc, responseField } = binding;
  const schema = responseField ? book.value(responseField) : book.refer(desc.output);
  const description = commentOf(responseField ?? desc.output) || "Done.";
  if (!isStream(binding)) return { description, content: { "application/json": { schema } } };
  const line = { oneOf: [wrapped("result", schema), wrapped("error", { $ref: "#/components/schemas/Error" })] };
  const schemas = {
    "text/event-stream": {
      type: "string",
      description: `\`event:\` is the member that is set, \`id:\` the resume token, \`data:\` the JSON of a ${desc.output.name}.`,
    },
    "application/x-ndjson": line,
  };
  return {
    description:
      "The events as they happen; an error that ends them comes last, as event `error` or a line with `error`. A request whose `Accept` prefers neither type gets the first.",
    content: Object.fromEntries(STREAM_TYPES.map((type) => [type, { schema: schemas[type] }])),
  };
}

function isStream({ desc }: Binding): boolean {
  return desc.methodKind === "server_streaming";
}

function wrapped(name: string, schema: Schema): Schema {
  return { type: "object", properties: { [name]: schema }, required: [name] };
}
