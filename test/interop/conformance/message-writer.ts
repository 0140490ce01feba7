/** Stands in for src/server/message-writer.ts, which knows the kinds of fields that the API has. */
import { type DescMessage, type Message, toBinary } from "@bufbuild/protobuf";

export function messageWriter(desc: DescMessage): (message: Message) => Uint8Array {
  return (message) => toBinary(desc, message);
}
