import type { DescMethod, Message } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { AnnotationService, CreateAnnotationRequest } from "../../../gen/sessionpool/v1/annotation_service_pb.js";
import type { MessageService, MessageWithParts } from "../../../gen/sessionpool/v1/message_service_pb.js";
import type { SessionService } from "../../../gen/sessionpool/v1/session_service_pb.js";
import { ulid } from "./ulid.js";

type Rpc =
  | keyof (typeof AnnotationService)["method"]
  | keyof (typeof MessageService)["method"]
  | keyof (typeof SessionService)["method"];
type GiveIds = (request: Message) => void;

/** What makes each of these calls safe to repeat: the ids that the service would otherwise choose. */
const GIVE_IDS: ReadonlyMap<string, GiveIds> = new Map<Rpc, GiveIds>([
  ["appendMessage", (request) => giveMessageId((request as never as One).message)],
  ["appendMessages", (request) => (request as never as Many).messages.forEach(giveMessageId)],
  ["startDraft", (request) => giveMessageId((request as never as One).message)],
  ["createAnnotation", (request) => giveAnnotationId(request as never as CreateAnnotationRequest)],
  ["createSession", (request) => giveId(request, "sessionId")],
  ["forkSession", (request) => giveId(request, "newSessionId")],
  ["shareSession", (request) => giveId(request, "newSessionId")],
]);

/**
 * Calls that may be repeated without an id: they name the version that they follow, end a draft, only sign a ticket, or
 * are answered with what they have brought back.
 */
const REPEATABLE: ReadonlySet<string> = new Set<Rpc>([
  "extendDraft",
  "finishDraft",
  "discardDraft",
  "createTicket",
  "undeleteSession",
]);

interface One {
  readonly message?: MessageWithParts;
}

interface Many {
  readonly messages: readonly MessageWithParts[];
}

/**
 * Gives the request every id that a repetition needs, and returns whether it may be sent again. Reads may, and so may
 * appends, drafts and calls that make a session, because ids that the caller left out are made here.
 */
export function makeSafeToRetry({ idempotency, localName }: DescMethod, request: Message): boolean {
  const giveIds = GIVE_IDS.get(localName);
  giveIds?.(request);
  return (
    giveIds !== undefined ||
    REPEATABLE.has(localName) ||
    idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS ||
    idempotency === MethodOptions_IdempotencyLevel.IDEMPOTENT
  );
}

function giveMessageId(message: MessageWithParts | undefined): void {
  if (message?.info !== undefined) giveId(message.info, "id");
}

function giveAnnotationId({ annotation }: CreateAnnotationRequest): void {
  if (annotation !== undefined) giveId(annotation, "annotationId");
}

function giveId(owner: object, field: string): void {
  const fields = owner as Record<string, unknown>;
  if (fields[field] === "") fields[field] = ulid();
}
