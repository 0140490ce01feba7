import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { mendMessage } from "../../../../../src/commands/transfer/foreign/mend-message.js";
import type { ForeignPart } from "../../../../../src/commands/transfer/readers/reader.js";
import { DEFAULT_LIMITS } from "../../../../../src/domain/limits.js";
import { EXAMPLES } from "../../../../support/attached-examples.js";

/** An import keeps no large objects as JSON, and cuts what is over 3 MiB even so. */
const OTHER = /"form":"json"|over 3 MiB/;
const same = EXAMPLES.filter(
  ({ name, stored, json_text_type }) =>
    json_text_type === undefined && !OTHER.test(`${name} ${JSON.stringify(stored)}`),
);

it.each(same)("an import keeps $name, as the adapters do", ({ parts, stored, attachments }) => {
  const place = { id: "m", timestampMicros: 1, files: new Map() };
  const given = { id: "m", role: "user", parts: parts as unknown as ForeignPart[] };
  const { messages, attached } = mendMessage(given, place, DEFAULT_LIMITS, () => {});
  expect(messages).toHaveLength(1);
  expect(messages[0]?.parts).toMatchObject(stored);
  expect(messages[0]?.parts).toHaveLength(stored.length);
  expect(
    attached.map(({ attachmentId, mediaType, name, bytes }) => [attachmentId, mediaType, name, hashOf(bytes)]),
  ).toEqual(
    attachments.map(({ attachment_id, media_type, name, text, base64 = "" }) => {
      return [attachment_id, media_type, name, hashOf(text ?? Buffer.from(base64, "base64"))];
    }),
  );
});

function hashOf(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}
