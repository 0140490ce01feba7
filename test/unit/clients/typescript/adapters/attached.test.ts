import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { attached } from "../../../../../clients/typescript/src/adapters/attached.js";
import { countValues, sizeOf } from "../../../../../clients/typescript/src/adapters/batches.js";
import { exceeds, fitted } from "../../../../../clients/typescript/src/adapters/fitted.js";
import { restoredBy } from "../../../../../clients/typescript/src/adapters/restored.js";
import type { NewMessage, StoredMessage } from "../../../../../clients/typescript/src/index.js";
import { DEFAULT_LIMITS } from "../../../../../src/domain/limits.js";
import { EXAMPLES } from "../../../../support/attached-examples.js";

const messageOf = (parts: readonly unknown[]) => ({ info: { id: "m", role: "assistant" }, parts }) as NewMessage;

/** The message as the service returns it. */
const storedOf = ({ info, parts = [] }: NewMessage) =>
  ({
    info,
    parts: (parts as object[]).map((part) => ({ id: "", type: "", text: "", ...part })),
  }) as unknown as StoredMessage;

const hashOf = (content: string | Uint8Array) => createHash("sha256").update(content).digest("hex");

/** The same with short texts, because a difference between large ones fills the screen. */
function brief(value: unknown): unknown {
  const shorten = (_key: string, item: unknown) =>
    typeof item === "string" && item.length > 1000
      ? `${item.slice(0, 50)}… ${hashOf(item)}`
      : Array.isArray(item) && item.length > 1000
        ? JSON.stringify(item).length
        : item;
  return JSON.parse(JSON.stringify(value, shorten));
}

/** Attaches and restores a message by way of JSON, as the service would keep it. */
async function kept(message: NewMessage, jsonTextType?: string): Promise<StoredMessage> {
  const { message: small, uploads } = await attached(message, jsonTextType === undefined ? {} : { jsonTextType });
  const bytes = new Map(uploads.map((upload) => [upload.attachmentId, upload.bytes]));
  const [back] = await restoredBy(async (id) => bytes.get(id), [JSON.parse(JSON.stringify(storedOf(small)))]);
  return back as StoredMessage;
}

describe("values that are too large for a message", () => {
  it.each(EXAMPLES)("are kept as the examples say: $name", async (example) => {
    const { json_text_type: jsonTextType, parts, stored, attachments } = example;
    const { message, uploads } = await attached(messageOf(parts), jsonTextType === undefined ? {} : { jsonTextType });
    expect(brief(message.parts)).toEqual(brief(stored));
    const contents = uploads.map(({ attachmentId, mediaType, name, bytes }) => [
      attachmentId,
      mediaType,
      name,
      hashOf(bytes),
    ]);
    expect(contents).toEqual(
      attachments.map(({ attachment_id, media_type, name, text, base64 = "" }) => {
        const bytes = text === undefined ? Buffer.from(base64, "base64") : Buffer.from(text);
        return [attachment_id, media_type, name, hashOf(bytes)];
      }),
    );
    expect(brief(await kept(messageOf(parts), jsonTextType))).toEqual(brief(storedOf(messageOf(parts))));
  });

  it("come back as they were, whatever they are", async () => {
    const base64 = fc
      .uint8Array({ minLength: 4000, maxLength: 5000 })
      .map((bytes) => Buffer.from(bytes).toString("base64"));
    const large = fc.oneof(
      fc.tuple(fc.string({ unit: "grapheme", minLength: 1 }), fc.integer({ min: 50_000, max: 400_000 })).map(repeated),
      base64,
      base64.map((text) => `data:image/png;base64,${text}`),
      base64.map((text) => text.slice(0, -1)),
      fc.record({ type: fc.constantFrom("base64", "image", "text"), data: base64, filename: fc.string() }),
      fc.tuple(fc.string(), fc.integer({ min: 30_000, max: 60_000 })).map(([text, n]) => Array(n).fill(text)),
    );
    const key = fc.oneof(fc.string(), fc.constantFrom("$attachments", "$$attachments", "text", "data", "__proto__"));
    const value = fc.letrec<{ value: unknown; leaf: unknown }>((tie) => ({
      leaf: fc.oneof(fc.jsonValue({ noUnicodeString: false }), large),
      value: fc.oneof(
        { depthSize: "small" },
        tie("leaf"),
        fc.array(tie("value"), { maxLength: 4 }),
        fc.dictionary(key, tie("value"), { maxKeys: 4 }),
      ),
    })).value;
    const part = fc.record({
      type: fc.constantFrom("text", "file", "attachment", "tool-read"),
      text: fc.oneof(
        fc.string(),
        large.filter((text) => typeof text === "string"),
      ),
      data: fc.dictionary(key, value, { minKeys: 1, maxKeys: 4 }),
    });
    const parts = fc.array(part, { maxLength: 4 });
    const property = fc.asyncProperty(parts, async (given) => {
      // As a Struct is: with prototypes, and without -0.
      const message = messageOf(JSON.parse(JSON.stringify(given)) as unknown[]);
      expect(brief(await kept(message))).toEqual(brief(storedOf(message)));
      const entry = { type: "entry", text: JSON.stringify(given[0]?.data ?? {}) };
      expect(brief(await kept(messageOf([entry]), "entry"))).toEqual(brief(storedOf(messageOf([entry]))));
    });
    // `assert` would print the values, which are large.
    const { errorInstance, seed, counterexamplePath } = await fc.check(property, { numRuns: 15, endOnFailure: true });
    expect({ errorInstance, seed, counterexamplePath }).toEqual({
      errorInstance: null,
      seed,
      counterexamplePath: null,
    });
  });

  it("make a message fit, with at most 100 attachments", async () => {
    const rows = Array.from({ length: 60_000 }, (_, i) => i);
    const many = messageOf([
      { type: "tool-list", text: "", data: { rows: [rows, rows], small: 1 } },
      ...Array.from({ length: 60 }, (_, i) => ({
        type: "tool-read",
        text: "",
        data: { output: `${i}`.padEnd(100_000 + i) },
      })),
    ]);
    const { message, uploads } = await attached(many);
    const size = { bytes: sizeOf(message), values: countValues(message), parts: 0, metadataBytes: 0 };
    expect(exceeds(size)).toBe(false);
    expect(fitted(message)).toBe(message);
    expect(uploads.length).toBeLessThan(60);
    expect(brief(await kept(many))).toEqual(brief(storedOf(many)));

    const files = messageOf(
      Array.from({ length: 120 }, (_, i) => {
        const url = `data:image/png;base64,${Buffer.alloc(5000 + i).toString("base64")}`;
        return { type: "file", text: "", data: { url } };
      }),
    );
    const withFiles = await attached(files);
    expect(withFiles.uploads.map(({ bytes }) => bytes.length)).toEqual(Array.from({ length: 100 }, (_, i) => 5020 + i));
    const naming = (withFiles.message.parts as { attachment?: unknown }[]).filter(({ attachment }) => attachment);
    expect(naming).toHaveLength(DEFAULT_LIMITS.messageAttachments);
    expect(brief(await kept(files))).toEqual(brief(storedOf(files)));
  });

  it("leave what their places keep when attachments are missing or lists are another program's", async () => {
    const given = messageOf([
      { type: "text", text: "x".repeat(300_000) },
      { type: "file", text: "", data: { url: `data:image/png;base64,${"A".repeat(8000)}` } },
    ]);
    const { message } = await attached(given);
    const [missing] = await restoredBy(async () => undefined, [storedOf(message)]);
    expect(missing).toEqual(
      storedOf(
        messageOf([
          { type: "text", text: "x".repeat(16384) },
          { type: "file", data: { url: "data:image/png;base64," } },
        ]),
      ),
    );
    const id = "1".repeat(64);
    const paths = [["text", "a"], ["data", "no", 1], ["data", "list", 5], ["data", "list", "length"], ["nowhere"]];
    const $attachments = paths.map((path) => ({ path, attachment_id: id, form: "text" }));
    const odd = storedOf(messageOf([{ type: "a", text: "{", data: { list: [1], $attachments } }]));
    expect(await restoredBy(async () => new Uint8Array(3), [odd])).toEqual([
      storedOf(messageOf([{ type: "a", text: "{", data: { list: [1] } }])),
    ]);
    const others = [
      [{ path: [], attachment_id: id, form: "text" }],
      [{ path: ["text"], attachment_id: id, form: "x" }],
      "text",
      [null],
    ];
    const foreign = storedOf(messageOf(others.map((list) => ({ type: "a", data: { $attachments: list } }))));
    expect(await restoredBy(() => Promise.reject(new Error("read")), [foreign])).toEqual([foreign]);
  });
});

function repeated([text, length]: [string, number]): string {
  return text.repeat(Math.ceil(length / text.length));
}
