import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type {
  AnnotationService,
  Annotation as StoredAnnotation,
} from "../../../gen/sessionpool/v1/annotation_service_pb.js";
import type { AttachmentService } from "../../../gen/sessionpool/v1/attachment_service_pb.js";
import type { MessageService, SearchHit as SearchHitMessage } from "../../../gen/sessionpool/v1/message_service_pb.js";
import type {
  SessionService,
  SessionView,
  Session as StoredSession,
} from "../../../gen/sessionpool/v1/session_service_pb.js";
import type { UsageRow as UsageRowMessage, UsageService } from "../../../gen/sessionpool/v1/usage_service_pb.js";
import type { WithNumbers } from "./int64.js";
import { type PageOptions, pages } from "./pages.js";
import type { ServiceClient } from "./service-client.js";
import type { Attachment } from "./upload.js";

/** A session as the service returns it, with numbers for its 64-bit integers. */
export type Session = WithNumbers<StoredSession>;

/** A note or feedback on a message. */
export type Annotation = WithNumbers<StoredAnnotation>;

/** A message that a search has found. */
export type SearchHit = WithNumbers<SearchHitMessage>;

/** The sums of one group. */
export type UsageRow = WithNumbers<UsageRowMessage>;

export interface ListSessionsOptions extends PageOptions {
  /** Only sessions with this parent. */
  readonly parentId?: string;
  /** Only sessions with all of these labels, each written `key=value`; at most 32. */
  readonly label?: readonly string[];
  /** Only sessions of this owner. */
  readonly owner?: string;
  /** Only sessions without an owner. Must not be combined with `owner`. */
  readonly noOwner?: boolean;
  /** `update_time`, `create_time` or `title`, with ` desc` after it for the other way; `update_time desc` when absent. */
  readonly orderBy?: string;
  /** Only sessions that were updated at or after this time. A Date has milliseconds, the times of sessions more. */
  readonly updatedSince?: Date | Timestamp;
  /** Only sessions that were updated before this time. */
  readonly updatedUntil?: Date | Timestamp;
  /** Only sessions whose titles have all of these words; case and accents do not matter. At most 256 bytes. */
  readonly title?: string;
  /** Deleted sessions that can be brought back, the newest delete first; only `owner` and `noOwner` select then. */
  readonly deleted?: boolean;
  /** Is told how many sessions there are on all pages, once the first page is there. */
  readonly onTotal?: (total: SessionTotal) => void;
  /** How much of each session to return; `SessionView.FULL` adds `messageCount` and `lastMessage`. */
  readonly view?: SessionView;
}

/** The number of sessions of a list; `isEstimate` where counting all would cost too much. */
export interface SessionTotal {
  readonly size: number;
  readonly isEstimate: boolean;
}

/** All sessions that meet the conditions, the most recently updated first unless `orderBy` says something else. */
export async function* listSessions(
  sessions: ServiceClient<typeof SessionService>,
  options: ListSessionsOptions = {},
): AsyncGenerator<Session, void, undefined> {
  const { label = [], parentId = "", owner = "", noOwner = false, view = 0, onTotal, ...others } = options;
  const { orderBy = "", title = "", updatedSince, updatedUntil, deleted = false, ...paging } = others;
  const times = {
    ...(updatedSince !== undefined && { updatedSince }),
    ...(updatedUntil !== undefined && { updatedUntil }),
  };
  const filter = { label: [...label], parentId, owner, noOwner, view, orderBy, title, deleted, ...times };
  let withTotal = onTotal !== undefined;
  const all = pages(paging, (page, call) => sessions.listSessions({ ...filter, ...page, withTotal }, call));
  for await (const { sessions: found, totalSize, totalIsEstimate } of all) {
    if (withTotal) onTotal?.({ size: totalSize ?? 0, isEstimate: totalIsEstimate });
    withTotal = false;
    yield* found;
  }
}

export interface SearchOptions extends PageOptions {
  /** Only messages of sessions with all of these labels, each written `key=value`; at most 32. */
  readonly label?: readonly string[];
  /** Only messages of this session. */
  readonly sessionId?: string;
  /** Only messages of sessions of this owner. */
  readonly owner?: string;
  /** Only messages of sessions without an owner. Must not be combined with `owner`. */
  readonly noOwner?: boolean;
  /** Only messages with this role. */
  readonly role?: string;
  /** Only messages with a timestamp at or after this time. */
  readonly since?: Date | Timestamp;
  /** Only messages with an earlier timestamp. */
  readonly until?: Date | Timestamp;
}

/** All messages that hold the words of `q`, in the order of SearchMessages. */
export async function* search(
  messages: ServiceClient<typeof MessageService>,
  q: string,
  { label = [], sessionId = "", owner = "", noOwner = false, role = "", since, until, ...paging }: SearchOptions = {},
): AsyncGenerator<SearchHit, void, undefined> {
  const filter = { q, label: [...label], sessionId, owner, noOwner, role, since, until };
  const all = pages(paging, (page, call) => messages.searchMessages({ ...filter, ...page }, call));
  for await (const page of all) yield* page.hits;
}

export interface SumUsageOptions extends PageOptions {
  /** Names separated by commas, such as `day,model`; one row when absent. */
  readonly groupBy?: string;
  /** IANA time zone of the days; UTC when absent. */
  readonly timeZone?: string;
  /** Only messages with a timestamp at or after this time. */
  readonly since?: Date | Timestamp;
  /** Only messages with an earlier timestamp. */
  readonly until?: Date | Timestamp;
  /** Only messages of sessions with all of these labels, each written `key=value`; at most 32. */
  readonly label?: readonly string[];
  /** Only messages of this session. */
  readonly sessionId?: string;
  /** Only messages of sessions of this owner. */
  readonly owner?: string;
  /** Only messages of sessions without an owner. Must not be combined with `owner`. */
  readonly noOwner?: boolean;
  /** Only messages of this model. */
  readonly model?: string;
  /** Is told how much of the work is done, from 0 to 1, while there are no rows yet. */
  readonly onProgress?: (progress: number) => void;
}

/** All rows of SumUsage, in its order. */
export async function* sumUsage(
  usage: ServiceClient<typeof UsageService>,
  { label = [], sessionId = "", owner = "", noOwner = false, model = "", ...rest }: SumUsageOptions = {},
): AsyncGenerator<UsageRow, void, undefined> {
  const { groupBy = "", timeZone = "", since, until, onProgress, ...paging } = rest;
  const request = { label: [...label], sessionId, owner, noOwner, model, groupBy, timeZone, since, until };
  const all = pages(paging, (page, call) => usage.sumUsage({ ...request, ...page }, call));
  for await (const page of all) {
    if (page.rows.length === 0 && page.nextPageToken !== "") onProgress?.(page.progress);
    yield* page.rows;
  }
}

/** All attachments that a session shows, by id. */
export async function* listAttachments(
  attachments: ServiceClient<typeof AttachmentService>,
  sessionId: string,
  paging: PageOptions = {},
): AsyncGenerator<Attachment, void, undefined> {
  const all = pages(paging, (page, call) => attachments.listAttachments({ sessionId, ...page }, call));
  for await (const page of all) yield* page.attachments;
}

export interface ListAnnotationsOptions extends PageOptions {
  /** Only annotations of this message. */
  readonly messageId?: string;
}

/** All annotations of the messages that a session shows, the oldest first. */
export async function* listAnnotations(
  annotations: ServiceClient<typeof AnnotationService>,
  sessionId: string,
  { messageId = "", ...paging }: ListAnnotationsOptions = {},
): AsyncGenerator<Annotation, void, undefined> {
  const all = pages(paging, (page, call) => annotations.listAnnotations({ sessionId, messageId, ...page }, call));
  for await (const page of all) yield* page.annotations;
}
