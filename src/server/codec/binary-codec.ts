import { create, type DescMessage, type DescMethod, fromBinary, type Message } from "@bufbuild/protobuf";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { Code } from "@connectrpc/connect";
import { ApiError } from "../../api/api-error.js";
import { API_METHODS } from "../../api/method-table.js";
import { binaryMessageWriter } from "./binary-writer.js";
import { useExactText } from "./exact-text.js";
import { decodeStruct } from "./struct-codec.js";
import { StructFields } from "./struct-fields.js";
import { losslessTypes } from "./wire-types.js";

/**
 * The API's messages on the binary wire. protobuf-es reads a google.protobuf.Struct with loss (a Value without a kind becomes null,
 * NaN passes, `__proto__` vanishes), and a map too (`__proto__` vanishes). So requests are read by types that have `bytes` and lists of
 * entries in their place, which the codec of this folder converts. Messages that are written keep their own types.
 */
export interface WireMethod {
  decodeRequest(bytes: Uint8Array): Message;
  encodeResponse(message: Message): Uint8Array;
  encodeRequest(message: Message): Uint8Array;
  decodeResponse(bytes: Uint8Array): Message;
}

useExactText();

const methods = API_METHODS.map(({ desc }) => desc);
const wireRegistry = losslessTypes(new Set(methods.map((method) => method.parent.file)));
const structFields = new StructFields(methods.flatMap(({ input, output }) => [input, output]));

/** Codecs of an RPC. Decoding throws `invalid_argument` for whatever is not what it should be. */
export function wireMethod(method: DescMethod): WireMethod {
  return {
    decodeRequest: decoder(method.input),
    encodeResponse: binaryMessageWriter(method.output),
    encodeRequest: binaryMessageWriter(method.input),
    decodeResponse: decoder(method.output),
  };
}

/**
 * A message of the type that the library writes as these bytes, for those who take no bytes. The library writes unknown fields as they
 * are; this one has the first field's tag, and all that follows it.
 */
export function writtenMessage(type: DescMessage, bytes: Uint8Array): Message {
  const message = create(type);
  if (bytes.length === 0) return message;
  const reader = new BinaryReader(bytes);
  const [no, wireType] = reader.tag();
  message.$unknown = [{ no, wireType, data: bytes.subarray(reader.pos) }];
  return message;
}

/** Decodes the wire's form of the type, and makes its Structs and maps objects. */
function decoder({ typeName }: DescMessage): (bytes: Uint8Array) => Message {
  const type = wireRegistry.getMessage(typeName);
  if (type === undefined) throw new Error(`${typeName} is not one of the API's messages`);
  return (bytes) => {
    try {
      return structFields.convert(fromBinary(type, bytes, { readUnknownFields: false }), decodeStruct);
    } catch (cause) {
      if (cause instanceof ApiError) throw cause;
      const why = cause instanceof Error ? `: ${cause.message}` : "";
      throw new ApiError(Code.InvalidArgument, `The message is not a valid ${typeName}${why}`, { cause });
    }
  };
}
