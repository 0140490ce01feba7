import type { Schema } from "./constraints.js";
import { describedBy } from "./schema.js";

/** Descriptions of the error codes, by HTTP status; docs/api.md has the full table. */
const RESPONSES: Readonly<Record<string, { readonly codes: readonly string[]; readonly text: string }>> = {
  400: {
    codes: ["invalid_argument", "failed_precondition"],
    text: "The request is invalid, or not possible in the session's present state",
  },
  401: { codes: ["unauthenticated"], text: "No key, or a wrong one" },
  403: { codes: ["permission_denied"], text: "The key lacks the scope" },
  404: { codes: ["not_found"], text: "No such session, message or path" },
  409: {
    codes: ["already_exists", "aborted"],
    text: "The id is taken, or the expected position or revision is not the current one",
  },
  412: { codes: ["failed_precondition"], text: "The entity tag is not one that `If-Match` names" },
  413: { codes: ["resource_exhausted"], text: "The body is too large" },
  415: {
    codes: ["invalid_argument"],
    text: "The body is not JSON in UTF-8, or has a `Content-Encoding` that is not accepted",
  },
  416: { codes: ["out_of_range"], text: "The range has no byte of the attachment" },
  429: { codes: ["resource_exhausted"], text: "Too many calls" },
  500: { codes: ["internal"], text: "Something is wrong with the service" },
  501: { codes: ["unimplemented"], text: "The storage provider lacks the operation" },
  503: { codes: ["unavailable"], text: "The store cannot be reached" },
  504: { codes: ["deadline_exceeded"], text: "The deadline has passed" },
};

const HEADERS: Readonly<Record<string, Schema>> = {
  416: { "Content-Range": { description: "How many bytes there are", schema: { type: "string" } } },
  401: { "WWW-Authenticate": { schema: { type: "string", const: "Bearer" } } },
  429: { "Retry-After": { description: "Seconds", schema: { type: "integer" } } },
  503: { "Retry-After": { description: "Seconds", schema: { type: "integer" } } },
};

const OF_EVERY_CALL = ["400", "401", "403", "429", "500", "501", "503", "504"];
const OF_A_BODY = ["413", "415"];
const OF_RANGES = ["412", "416"];

export const ERROR_SCHEMA: Schema = {
  type: "object",
  description: "The body of every error.",
  properties: {
    code: { type: "integer", description: "gRPC's code.", minimum: 1, maximum: 16 },
    message: { type: "string", description: "Names the id and the limit." },
    details: {
      type: "array",
      description:
        "Names the request, as the header X-Request-Id does. If a call expected another position, revision or version, an ErrorInfo holds the current one.",
      items: {
        oneOf: [
          {
            type: "object",
            properties: {
              "@type": { type: "string", const: "type.googleapis.com/google.rpc.RequestInfo" },
              requestId: { type: "string" },
            },
            required: ["@type", "requestId"],
          },
          {
            type: "object",
            properties: {
              "@type": { type: "string", const: "type.googleapis.com/google.rpc.ErrorInfo" },
              reason: { type: "string", const: "NOT_AS_EXPECTED" },
              domain: { type: "string", const: "sessionpool.v1" },
              metadata: {
                type: "object",
                description: "`current_position`, `current_revision` or `current_version`.",
                additionalProperties: { type: "string" },
              },
            },
            required: ["@type", "reason", "domain", "metadata"],
          },
        ],
      },
    },
  },
  required: ["code", "message", "details"],
};

const CONTENT = { "application/json": { schema: { $ref: "#/components/schemas/Error" } } };

/** All error responses, for references. */
export function errorResponses(): Schema {
  const byStatus = Object.fromEntries(
    Object.entries(RESPONSES).map(([status, { codes, text }]) => [
      `Error${status}`,
      {
        ...describedBy(`${text} (${codes.map((code) => `\`${code}\``).join(", ")}).`),
        ...(HEADERS[status] && { headers: HEADERS[status] }),
        content: CONTENT,
      },
    ]),
  );
  return { Error: { description: "Any other error.", content: CONTENT }, ...byStatus };
}

/** The error responses of an operation: those that every call has, and those whose codes its comment names. */
export function referErrors(comment: string, has: { readonly hasBody: boolean; readonly hasRanges: boolean }): Schema {
  const ofSome = [...OF_A_BODY, ...OF_RANGES];
  const named = Object.keys(RESPONSES).filter(
    (status) => !ofSome.includes(status) && RESPONSES[status]?.codes.some((code) => comment.includes(`\`${code}\``)),
  );
  const ofThis = [...(has.hasBody ? OF_A_BODY : []), ...(has.hasRanges ? OF_RANGES : [])];
  const statuses = new Set([...OF_EVERY_CALL, ...named, ...ofThis]);
  return Object.fromEntries(
    [...statuses].sort().map((status) => [status, { $ref: `#/components/responses/Error${status}` }]),
  );
}
