import { create, toBinary } from "@bufbuild/protobuf";
import { MessageWithPartsSchema } from "../../../../gen/sessionpool/v1/message_service_pb.js";
import type { NewMessage } from "../index.js";

const MOST_MESSAGES = 1000;
/** Below the 8 MiB of a request. */
const MOST_BYTES = 7 * 1024 * 1024;
/** Below the 100,000 values of a request. */
export const MOST_VALUES = 90_000;

/** Groups messages, in their order, into as few calls as the limits of a batch allow. */
export function batchesOf(messages: readonly NewMessage[]): NewMessage[][] {
  const batches: NewMessage[][] = [];
  let bytes = 0;
  let values = 0;
  for (const message of messages) {
    bytes += sizeOf(message);
    values += countValues(message);
    const last = batches.at(-1);
    if (last !== undefined && last.length < MOST_MESSAGES && bytes <= MOST_BYTES && values <= MOST_VALUES) {
      last.push(message);
    } else {
      batches.push([message]);
      bytes = sizeOf(message);
      values = countValues(message);
    }
  }
  return batches;
}

/** The bytes of a message as protobuf. */
export function sizeOf(message: NewMessage): number {
  return toBinary(MessageWithPartsSchema, create(MessageWithPartsSchema, message as object)).length;
}

/** The values of a message as the service counts them: each one, and what an object or a list holds. */
export function countValues(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce<number>((count, item) => count + countValues(item), 2);
}
