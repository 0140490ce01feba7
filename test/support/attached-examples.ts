import { readFileSync } from "node:fs";

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export interface AttachedExample {
  readonly name: string;
  readonly json_text_type?: string;
  readonly parts: Json[];
  readonly stored: Json[];
  readonly attachments: { attachment_id: string; media_type: string; name: string; text?: string; base64?: string }[];
}

/** How the adapters of both languages, and imports, keep large values. `{"join": [["x", 3]]}` stands for `xxx`. */
export const EXAMPLES = unfold(
  JSON.parse(readFileSync(new URL("../clients/fixtures/attached-parts.json", import.meta.url), "utf8")),
) as unknown as AttachedExample[];

function unfold(value: Json): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(unfold);
  if (Array.isArray(value.join)) return (value.join as [string, number][]).map(([text, n]) => text.repeat(n)).join("");
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, unfold(item)]));
}
