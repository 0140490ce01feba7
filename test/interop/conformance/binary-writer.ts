/** Replaces src/codec/binary-writer.ts, which knows only the kinds of fields that the API has. */
import { type DescMessage, type Message, toBinary } from "@bufbuild/protobuf";

export function binaryMessageWriter(desc: DescMessage): (message: Message) => Uint8Array {
  return (message) => toBinary(desc, message);
}
