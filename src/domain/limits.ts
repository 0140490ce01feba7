/** Limits of the API. The configuration may lower or raise them. An error for exceeding one names it. */
export interface Limits {
  /** Limits of one message, as protobuf. */
  readonly messageBytes: number;
  readonly parts: number;
  readonly batchMessages: number;
  readonly batchBytes: number;
  readonly idBytes: number;
  readonly titleBytes: number;
  readonly metadataBytes: number;
  /** Limits of one session. */
  readonly labels: number;
  readonly labelKeyBytes: number;
  readonly labelValueBytes: number;
  /** Nesting depth of objects and lists; the Struct itself counts as 1. */
  readonly structDepth: number;
  readonly todoCount: number;
  readonly todoBytes: number;
  readonly pageMessages: number;
  readonly pageBytes: number;
  /** Open drafts of one session. */
  readonly draftCount: number;
  /** Deltas of one draft. */
  readonly draftDeltas: number;
  /** Parts of one message that name attachments. */
  readonly messageAttachments: number;
  /** Bytes of one attachment. */
  readonly attachmentBytes: number;
  /** Bytes of all attachments that were uploaded to one session. */
  readonly sessionAttachmentBytes: number;
  /** How far ahead of the service's clock a timestamp may be. */
  readonly futureMs: number;
}

const KIB = 1024;
const MIB = 1024 * KIB;

export const DEFAULT_PAGE_MESSAGES = 100;

export const DEFAULT_LIMITS: Limits = {
  messageBytes: 3 * MIB,
  parts: 10_000,
  batchMessages: 1000,
  batchBytes: 8 * MIB,
  idBytes: 128,
  titleBytes: KIB,
  metadataBytes: 64 * KIB,
  labels: 32,
  labelKeyBytes: 64,
  labelValueBytes: 256,
  structDepth: 24,
  todoCount: 10_000,
  todoBytes: 3 * MIB,
  pageMessages: 1000,
  pageBytes: 3 * MIB,
  draftCount: 16,
  draftDeltas: 100_000,
  messageAttachments: 100,
  attachmentBytes: 64 * MIB,
  sessionAttachmentBytes: 1024 * MIB,
  futureMs: 5 * 60_000,
};
