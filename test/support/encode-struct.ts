import type { JsonObject } from "@bufbuild/protobuf";
import { BackwardWriter } from "../../src/codec/backward-writer.js";
import { writeStruct } from "../../src/codec/struct-codec.js";

/** Encodes a google.protobuf.Struct on its own, as the server's codec encodes it inside messages. */
export function encodeStruct(struct: JsonObject): Uint8Array {
  const writer = new BackwardWriter();
  writeStruct(writer, struct);
  return writer.finish();
}
