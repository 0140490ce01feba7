import type { JsonObject } from "../../../domain/json.js";
import { isObject } from "../shape.js";
import { partsOf } from "./chatgpt-parts.js";
import { fieldAt, firstText, listAt, microsOf, objectAt, textAt, without } from "./fields.js";
import type { ForeignMessage, ForeignPart, ReadContext } from "./reader.js";
import { usageOfModel } from "./usage.js";

/** What ChatGPT shows to the model only. */
const HIDDEN_TYPES: readonly string[] = ["user_editable_context", "model_editable_context"];
/** Fields of a message's metadata that have a place of their own. */
const OWN_METADATA = ["attachments", "model_slug", "is_visually_hidden_from_conversation"];
/** Names of files in an archive begin with the id of the file. */
const FILE_ID = /^file[-_][A-Za-z0-9]+/;
/** In front of the id of a file. */
const SCHEME = /^[a-z-]+:\/\//;

/** Reads the messages of a document. */
export class MessageReader {
  readonly #context: ReadContext;
  /** The names of files of the archive by their ids. */
  readonly #files: ReadonlyMap<string, string>;

  constructor(context: ReadContext) {
    this.#context = context;
    this.#files = new Map(
      [...context.files.keys()].flatMap((name) => {
        const id = fileIdOf(name);
        return id === undefined ? [] : [[id, name]];
      }),
    );
  }

  /** Returns null for a node without a message, and for a message with nothing in it, such as hidden ones. */
  read(nodeId: string, message: unknown, parent: unknown, place: string): ForeignMessage | null {
    if (!isObject(message)) return null;
    const id = textAt(message, "id") || nodeId;
    const { notes } = this.#context;
    const at = `${place}, message ${JSON.stringify(id)}`;
    const role = textAt(message.author, "role") || textAt(message, "author");
    const metadata = objectAt(message, "metadata");
    const isHidden = isHiddenMessage(message, metadata);
    const own = partsOf(message, callOf(parent), (kind) => notes.mended(kind, at));
    const parts = this.#withFiles(own, listAt(metadata, "attachments"));
    const hasContent = isObject(message.content) || typeof message.content === "string";
    if (parts.length === 0 && hasContent) return null;
    if (!hasContent) notes.mended("messages without content, which have no text", at);
    if (role === "") notes.mended("messages without a role", at);
    const kept = keptFields(message, metadata);
    return {
      ...(role === "assistant" && usageOfModel(textAt(metadata, "model_slug"))),
      id,
      role: isHidden && role === "user" ? "system" : role,
      timestampMicros: microsOf(message.create_time),
      parts,
      metadata: {
        ...(Object.keys(kept).length > 0 || isHidden
          ? { chatgpt: { ...kept, ...(isHidden && { hidden: true }) } }
          : {}),
      },
    };
  }

  /** The parts, with the names of the files that they name, and a part for each file that none of them names. */
  #withFiles(parts: readonly ForeignPart[], attachments: readonly unknown[]): ForeignPart[] {
    const files = attachments.filter(isObject).map((one) => one as JsonObject);
    const named = new Set<string>();
    const withNames = parts.map((part): ForeignPart => {
      const id = part.type === "file" ? fileIdOf(textAt(part.data, "asset_pointer")) : undefined;
      if (id === undefined) return part;
      const file = files.find((one) => textAt(one, "id") === id) ?? {};
      named.add(id);
      const filename = textAt(file, "name") || this.#files.get(id) || id;
      return { ...part, data: { ...without(file, "id", "name"), ...part.data, filename }, ...this.#bytesOf(id, file) };
    });
    const others = files.filter((file) => !named.has(textAt(file, "id")));
    return [...withNames, ...others.map((file) => this.#filePart(file))];
  }

  #filePart(file: JsonObject): ForeignPart {
    const id = textAt(file, "id");
    const filename = textAt(file, "name") || this.#files.get(id) || id;
    return { type: "file", data: { ...without(file, "name"), filename }, ...this.#bytesOf(id, file) };
  }

  /** The file of the archive with this id, under the name that the user gave it. */
  #bytesOf(id: string, file: JsonObject): Pick<ForeignPart, "file"> {
    const stored = this.#files.get(id);
    const source = stored === undefined ? undefined : this.#context.files.get(stored);
    if (stored === undefined || source === undefined) return {};
    const name = textAt(file, "name") || stored;
    return { file: { name, mediaType: firstText(file, "mime_type", "mimeType") || mediaTypeOf(stored, name), source } };
  }
}

/** Extensions of the files that ChatGPT exports without saying their types. */
const TYPES: ReadonlyMap<string, string> = new Map([
  ["png", "image/png"],
  ["jpg", "image/jpeg"],
  ["jpeg", "image/jpeg"],
  ["webp", "image/webp"],
  ["gif", "image/gif"],
  ["wav", "audio/wav"],
  ["mp3", "audio/mpeg"],
  ["m4a", "audio/mp4"],
  ["ogg", "audio/ogg"],
  ["mp4", "video/mp4"],
  ["pdf", "application/pdf"],
  ["txt", "text/plain"],
  ["csv", "text/csv"],
  ["json", "application/json"],
]);

function mediaTypeOf(...names: readonly string[]): string {
  const found = names.map((name) => TYPES.get(/\.([A-Za-z0-9]+)$/.exec(name)?.[1]?.toLowerCase() ?? ""));
  return found.find((type) => type !== undefined) ?? "";
}

function fileIdOf(pointer: string): string | undefined {
  return FILE_ID.exec(pointer.replace(SCHEME, ""))?.[0];
}

function isHiddenMessage({ content }: Record<string, unknown>, metadata: JsonObject): boolean {
  if (metadata.is_visually_hidden_from_conversation === true || metadata.is_user_system_message === true) return true;
  return HIDDEN_TYPES.includes(textAt(content, "content_type"));
}

/** The call to which a message of a tool answers: the message before it, if that was for a tool. */
function callOf(parent: unknown): string {
  const recipient = textAt(parent, "recipient");
  const isCall = textAt(fieldAt(parent, "author"), "role") === "assistant" && recipient !== "" && recipient !== "all";
  return isCall ? textAt(parent, "id") : "";
}

function keptFields(message: Record<string, unknown>, metadata: JsonObject): JsonObject {
  const rest = without(metadata, ...OWN_METADATA);
  const recipient = textAt(message, "recipient");
  const status = textAt(message, "status");
  const fields = {
    author: textAt(message.author, "name"),
    recipient: recipient === "all" ? "" : recipient,
    channel: textAt(message, "channel"),
    model: textAt(metadata, "model_slug"),
    status: status === "finished_successfully" ? "" : status,
  };
  const updated = fieldAt(message, "update_time");
  return {
    ...Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== "")),
    ...(typeof updated === "number" && { update_time: updated }),
    ...(Object.keys(rest).length > 0 && { metadata: rest }),
  };
}
