import type { DescField } from "@bufbuild/protobuf";
import type { Binding } from "../binding.js";
import type { Schema } from "./constraints.js";

const BYTES: Schema = { type: "string", format: "binary" };
const TEXT: Schema = { type: "string" };

/** Any media type: the one that was uploaded. */
const ANY_BYTES = { "*/*": { schema: BYTES } };

/** What the headers of a request for an upload say instead of its query. */
const FIELDS_OF_HEADERS: readonly string[] = ["media_type", "size"];
/** What `Range` says instead. */
const FIELDS_OF_RANGE: readonly string[] = ["offset", "length"];

/** Whether a query may set the field. */
export function isQueryField({ transfer }: Binding, { name }: DescField): boolean {
  if (transfer === "upload") return !FIELDS_OF_HEADERS.includes(name);
  return transfer !== "download" || !FIELDS_OF_RANGE.includes(name);
}

/** The headers that matter for a route that carries bytes. */
export function transferHeaders({ transfer }: Binding): Schema[] {
  if (transfer === "upload") {
    return [
      headerOf("Content-Digest", "The SHA-256 of the bytes: other bytes are refused. Other algorithms are ignored.", {
        pattern: "^sha-256=:[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=:$",
      }),
    ];
  }
  if (transfer !== "download") return [];
  return [
    headerOf("Range", "Which bytes to return. Several ranges are answered with the whole attachment.", {
      pattern: "^bytes=([0-9]+-[0-9]*|-[0-9]+)$",
    }),
    headerOf("If-Range", "Return the whole attachment unless it has this entity tag."),
    headerOf("If-None-Match", "Answer 304 if the attachment has one of these entity tags."),
    headerOf("If-Match", "Answer 412 unless the attachment has one of these entity tags."),
  ];
}

/** The bytes of an upload. */
export const UPLOADED_BODY: Schema = {
  required: false,
  description: "The bytes, with their media type as `Content-Type`, whatever it is.",
  content: { "application/octet-stream": { schema: BYTES, example: "Azaleas: late April to the middle of May." } },
};

/** The answers of a download, by status. */
export function downloadAnswers(): Schema {
  const tag = { ETag: shown("The SHA-256 of all bytes, in hexadecimal and quoted.") };
  const headers = {
    ...tag,
    "Accept-Ranges": shown("`bytes`"),
    "Content-Disposition": shown("`inline` for types that a browser may show in place, and otherwise `attachment`."),
  };
  const range = { "Content-Range": shown("Which bytes these are, and how many there are.") };
  return {
    200: { description: "The bytes.", headers, content: ANY_BYTES },
    206: { description: "The bytes of the range.", headers: { ...headers, ...range }, content: ANY_BYTES },
    304: { description: "The client has these bytes already.", headers: tag },
  };
}

function headerOf(name: string, description: string, schema: Schema = {}): Schema {
  return { name, in: "header", description, schema: { ...TEXT, ...schema } };
}

function shown(description: string): Schema {
  return { description, schema: TEXT };
}
