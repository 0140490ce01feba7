import { type DescMessage, type DescMethod, fromBinary, type Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { ApiError } from "../api/api-error.js";
import { API_METHODS } from "../api/method-table.js";
import { binaryScan } from "./binary-scan.js";
import { binaryMessageWriter } from "./binary-writer.js";
import { useExactText } from "./exact-text.js";
import { decodeStruct } from "./struct-codec.js";
import { StructFields } from "./struct-fields.js";
import type { ValueRoom } from "./value-room.js";
import { losslessTypes } from "./wire-types.js";

/**
 * The API's messages in the binary wire format. protobuf-es loses information when it reads a google.protobuf.Struct (a
 * Value without a kind becomes null, NaN passes, `__proto__` vanishes) or a map (`__proto__` vanishes). Requests are
 * therefore read as types with `bytes` and lists of entries instead, which this folder's codec converts. Messages that
 * are written keep their own types.
 */
export interface WireMethod {
  /** Scans the bytes first, and holds room for their values. */
  decodeRequest(bytes: Uint8Array, room: ValueRoom): Message;
  encodeResponse(message: Message): Uint8Array;
  encodeRequest(message: Message): Uint8Array;
  decodeResponse(bytes: Uint8Array): Message;
}

useExactText();

const methods = API_METHODS.map(({ desc }) => desc);
const wireRegistry = losslessTypes(new Set(methods.map((method) => method.parent.file)));
const structFields = new StructFields(methods.flatMap(({ input, output }) => [input, output]));

/** The codecs of an RPC. Decoding throws `invalid_argument` for malformed bytes, and what `ValueRoom` describes. */
export function wireMethod(method: DescMethod): WireMethod {
  return {
    decodeRequest: requestDecoder(method.input),
    encodeResponse: binaryMessageWriter(method.output),
    encodeRequest: binaryMessageWriter(method.input),
    decodeResponse: decoder(method.output),
  };
}

function requestDecoder(desc: DescMessage): WireMethod["decodeRequest"] {
  const scan = binaryScan(desc);
  const decode = decoder(desc);
  return (bytes, room) => {
    room.holdValues(asMalformed(desc, () => scan(bytes, room.mostValues)));
    return decode(bytes);
  };
}

/** Decodes the wire form of a type, and turns its Structs and maps into objects. */
function decoder(desc: DescMessage): (bytes: Uint8Array) => Message {
  const type = wireRegistry.getMessage(desc.typeName);
  if (type === undefined) throw new Error(`${desc.typeName} is not one of the API's messages`);
  return (bytes) =>
    asMalformed(desc, () => structFields.convert(fromBinary(type, bytes, { readUnknownFields: false }), decodeStruct));
}

/** Turns the errors of the library into `invalid_argument`. */
function asMalformed<T>({ typeName }: DescMessage, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof ApiError) throw cause;
    const why = cause instanceof Error ? `: ${cause.message}` : "";
    throw new ApiError(Code.InvalidArgument, `The message is not a valid ${typeName}${why}`, { cause });
  }
}
