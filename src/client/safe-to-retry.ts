import type { DescMethod, Message } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import {
  AppendMessageRequestSchema,
  AppendMessagesRequestSchema,
  DiscardDraftRequestSchema,
  ExtendDraftRequestSchema,
  FinishDraftRequestSchema,
  type MessageWithParts,
  StartDraftRequestSchema,
} from "../../gen/sessionpool/v1/message_service_pb.js";
import {
  CreateSessionRequestSchema,
  ForkSessionRequestSchema,
  ShareSessionRequestSchema,
} from "../../gen/sessionpool/v1/session_service_pb.js";
import { ulid } from "./ulid.js";

type GiveIds = (request: Message) => void;

/** What makes each of these calls safe to repeat: the ids that the service would otherwise choose. */
const GIVE_IDS: ReadonlyMap<string, GiveIds> = new Map<string, GiveIds>([
  [AppendMessageRequestSchema.typeName, (request) => giveMessageId((request as never as One).message)],
  [AppendMessagesRequestSchema.typeName, (request) => (request as never as Many).messages.forEach(giveMessageId)],
  [StartDraftRequestSchema.typeName, (request) => giveMessageId((request as never as One).message)],
  [CreateSessionRequestSchema.typeName, (request) => giveId(request, "sessionId")],
  [ForkSessionRequestSchema.typeName, (request) => giveId(request, "newSessionId")],
  [ShareSessionRequestSchema.typeName, (request) => giveId(request, "newSessionId")],
]);

/** Calls with the same answer when they are repeated: they name the version that they follow, or end a draft. */
const REPEATABLE: ReadonlySet<string> = new Set(
  [ExtendDraftRequestSchema, FinishDraftRequestSchema, DiscardDraftRequestSchema].map(({ typeName }) => typeName),
);

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
export function makeSafeToRetry({ idempotency, input }: DescMethod, request: Message): boolean {
  const giveIds = GIVE_IDS.get(input.typeName);
  giveIds?.(request);
  return (
    giveIds !== undefined ||
    REPEATABLE.has(input.typeName) ||
    idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS ||
    idempotency === MethodOptions_IdempotencyLevel.IDEMPOTENT
  );
}

function giveMessageId(message: MessageWithParts | undefined): void {
  if (message?.info !== undefined) giveId(message.info, "id");
}

function giveId(owner: object, field: string): void {
  const fields = owner as Record<string, unknown>;
  if (fields[field] === "") fields[field] = ulid();
}
