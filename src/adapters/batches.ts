import { create, toBinary } from "@bufbuild/protobuf";
import { MessageWithPartsSchema } from "../../gen/sessionpool/v1/message_service_pb.js";
import type { NewMessage } from "../client/index.js";

const MOST_MESSAGES = 1000;
/** Below the 8 MiB of a request. */
const MOST_BYTES = 7 * 1024 * 1024;

/** Groups messages, in their order, into as few calls as the limits of a batch allow. */
export function batchesOf(messages: readonly NewMessage[]): NewMessage[][] {
  const batches: NewMessage[][] = [];
  let bytes = 0;
  for (const message of messages) {
    const size = toBinary(MessageWithPartsSchema, create(MessageWithPartsSchema, message as object)).length;
    const last = batches.at(-1);
    if (last !== undefined && last.length < MOST_MESSAGES && bytes + size <= MOST_BYTES) {
      last.push(message);
      bytes += size;
    } else {
      batches.push([message]);
      bytes = size;
    }
  }
  return batches;
}
