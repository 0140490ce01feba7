import type { JsonObject } from "@bufbuild/protobuf";
import { BackwardWriter } from "../../src/server/codec/backward-writer.js";
import { writeStruct } from "../../src/server/codec/struct-codec.js";

/** A google.protobuf.Struct by itself, as the server's codec writes it inside of messages. */
export function encodeStruct(struct: JsonObject): Uint8Array {
  const writer = new BackwardWriter();
  writeStruct(writer, struct);
  return writer.finish();
}
