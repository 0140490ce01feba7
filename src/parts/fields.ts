import type { Json, JsonObject, Part } from "./part.js";
import type { ImageView, Output } from "./part-view.js";

/** A part with its type, its text, and its data. */
export interface Fields {
  readonly type: string;
  readonly text: string;
  readonly data: JsonObject;
}

export function fieldsOf(part: Part): Fields {
  const data = part.data ?? {};
  return { type: part.type, text: part.text || textAt(data, "text"), data };
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function objectAt(data: JsonObject, name: string): JsonObject {
  const value = own(data, name);
  return isObject(value) ? value : {};
}

/** Returns the first of the fields that holds a string, or an empty string. */
export function textAt(data: JsonObject, ...names: readonly string[]): string {
  for (const name of names) {
    const value = own(data, name);
    if (typeof value === "string" && value !== "") return value;
  }
  return "";
}

/** Returns the first of the fields that is present. */
export function valueAt(data: JsonObject, ...names: readonly string[]): Json | undefined {
  for (const name of names) {
    const value = own(data, name);
    if (value !== undefined && value !== null) return value;
  }
  return undefined;
}

function own(data: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(data, name) ? data[name] : undefined;
}

/** As deep as the data of a part may be. A text with deeper JSON stays a text, because nobody could read the tree. */
const MAX_DEPTH = 24;

/** Arguments come as an object or as JSON text. Text that is not JSON is left as it is. */
export function parsed(value: Json | undefined): Json | undefined {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
  try {
    const json = JSON.parse(value) as Json;
    return isDeeper(json, MAX_DEPTH) ? value : json;
  } catch {
    return value;
  }
}

function isDeeper(value: Json, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((child) => isDeeper(child, levels - 1));
}

/** Reads the output of a tool in any form that formats use: text, content blocks, or JSON. */
export function outputOf(value: Json | undefined): Output {
  if (value === undefined || value === null) return { images: [] };
  if (typeof value === "string") return outputOfText(value);
  const blocks = Array.isArray(value) ? value : isObject(value) && Array.isArray(value.content) ? value.content : [];
  const known = blocks.filter((block) => isObject(block) && typeof block.type === "string") as JsonObject[];
  const texts = known.map((block) => textAt(block, "text")).filter((text) => text !== "");
  const images = known.map(imageOfBlock).filter((image) => image !== undefined);
  if (blocks.length > 0 && texts.length + images.length === blocks.length) {
    return { ...(texts.length > 0 && { text: withoutColours(texts.join("\n")) }), images };
  }
  return { json: value, images };
}

function outputOfText(text: string): Output {
  const value = parsed(text);
  return typeof value === "string" ? { text: withoutColours(text), images: [] } : { json: value as Json, images: [] };
}

/** Escape sequences of terminals, such as colours and cursor moves, which mean nothing to a reader. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: terminals begin their commands with U+001B.
const TERMINAL_COMMANDS = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\))/g;

function withoutColours(text: string): string {
  return text.replace(TERMINAL_COMMANDS, "");
}

/** Image types that a browser shows without running scripts in them. SVG is not one of them. */
export const SAFE_IMAGE = /^image\/(png|jpeg|gif|webp|avif|bmp)$/;
/** In base64, about 6 MiB of bytes. */
const MAX_IMAGE_CHARACTERS = 8 * 1024 * 1024;

export function imageOf(address: string, mediaType = "", name = ""): ImageView {
  const [, typeOfUrl, base64] = /^data:([^;,]*);base64,([A-Za-z0-9+/=\s]*)$/.exec(address) ?? [];
  const type = (typeOfUrl ?? mediaType).toLowerCase();
  const view = { kind: "image", name, mediaType: type } as const;
  if (base64 === undefined) return address.startsWith("data:") ? view : { ...view, address };
  if (!SAFE_IMAGE.test(type) || base64.length > MAX_IMAGE_CHARACTERS) return view;
  return { ...view, source: `data:${type};base64,${base64}` };
}

export function imageOfBytes(base64: string, mediaType: string, name = ""): ImageView {
  return imageOf(base64.startsWith("data:") ? base64 : `data:${mediaType};base64,${base64}`, mediaType, name);
}

/**
 * Blocks with a picture: Anthropic's `image`, MCP's `image`, OpenAI's `image_url`, `input_image` and
 * `computer_screenshot`, the AI SDK's `media`.
 */
export function imageOfBlock(block: JsonObject): ImageView | undefined {
  const type = textAt(block, "type");
  const source = objectAt(block, "source");
  if (type === "image" && Object.keys(source).length > 0) {
    const url = textAt(source, "url");
    return url ? imageOf(url) : imageOfBytes(textAt(source, "data"), textAt(source, "media_type"));
  }
  if (type === "image_url" || type === "input_image" || type === "computer_screenshot") {
    return imageOf(textAt(block, "image_url", "image", "data") || textAt(objectAt(block, "image_url"), "url"));
  }
  const bytes = textAt(block, "data", "image");
  const mediaType = textAt(block, "mimeType", "mediaType", "media_type");
  if (type === "image" && /^https?:/.test(bytes)) return imageOf(bytes, mediaType);
  if (bytes && (type === "image" || (type === "media" && mediaType.startsWith("image/")))) {
    return imageOfBytes(bytes, mediaType || "image/png");
  }
  return undefined;
}
