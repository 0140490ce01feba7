import { InvalidArgumentError, type Option } from "commander";
import { DEFAULT_LIMITS, type Limits } from "../domain/limits.js";
import { camel, type Flags, flag, positive } from "./flags.js";

const LIMIT_TEXTS: Record<keyof Limits, string> = {
  messageBytes: "bytes of one message",
  parts: "parts of one message",
  batchMessages: "messages of one batch",
  batchBytes: "bytes of one batch",
  idBytes: "bytes of an id",
  titleBytes: "bytes of a title",
  metadataBytes: "bytes of a metadata Struct",
  labels: "labels of a session",
  labelKeyBytes: "bytes of a label's key",
  labelValueBytes: "bytes of a label's value",
  structDepth: "levels of a Struct",
  todoCount: "todos",
  todoBytes: "bytes of all todos",
  pageMessages: "messages of a page",
  pageBytes: "bytes of a page",
  draftCount: "open drafts of a session",
  draftDeltas: "deltas of one draft",
  messageAttachments: "parts of one message that name attachments",
  attachmentBytes: "bytes of one attachment",
  sessionAttachmentBytes: "bytes of all attachments that were uploaded to a session",
  futureMs: "milliseconds that a timestamp may be ahead",
};

/**
 * The length of the longest ids that the service makes: the name of a draft's log becomes a message's id when another
 * message has taken the draft's own. With a lower limit, what has such an id could never be read again.
 */
const MADE_ID_BYTES = 49;

const LIMIT_KEYS = Object.keys(LIMIT_TEXTS) as (keyof Limits)[];

/** The flags of the limits on what is stored. */
export function contentLimitFlags(): Option[] {
  return LIMIT_KEYS.map((key) =>
    flag(`--limit-${kebab(key)} <n>`, `limit: ${LIMIT_TEXTS[key]}`)
      .default(DEFAULT_LIMITS[key])
      .argParser(key === "idBytes" ? idBytes : positive),
  );
}

export function readContentLimits(flags: Flags): Limits {
  const entries = LIMIT_KEYS.map((key) => [key, flags[camel(`limit-${kebab(key)}`)]]);
  return Object.fromEntries(entries) as Limits;
}

function idBytes(text: string): number {
  const value = positive(text);
  if (value >= MADE_ID_BYTES) return value;
  throw new InvalidArgumentError(
    `It must be at least ${MADE_ID_BYTES}, because ids that the service makes are as long.`,
  );
}

function kebab(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
