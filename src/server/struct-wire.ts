import { type DescMessage, type DescMethod, type DescService, fromBinary, type Message } from "@bufbuild/protobuf";
import { API_METHODS } from "../api/method-table.js";
import { DomainError } from "../domain/errors.js";
import { useExactText } from "./exact-text.js";
import { messageWriter } from "./message-writer.js";
import { decodeStruct, encodeStruct } from "./struct-codec.js";
import { StructFields } from "./struct-fields.js";
import { structsAsBytes } from "./wire-types.js";

/**
 * The API's messages on the binary wire. protobuf-es reads a google.protobuf.Struct with loss (a Value without a kind becomes null,
 * NaN passes, `__proto__` vanishes), so the wire's types have `bytes` in its place and the codec of this folder reads those.
 */
export interface WireMethod {
  decodeRequest(bytes: Uint8Array): Message;
  encodeResponse(message: Message): Uint8Array;
  encodeRequest(message: Message): Uint8Array;
  decodeResponse(bytes: Uint8Array): Message;
}

useExactText();

const methods = API_METHODS.map(({ desc }) => desc);
const wireRegistry = structsAsBytes(new Set(methods.map((method) => method.parent.file)));
const structFields = new StructFields(methods.flatMap(({ input, output }) => [input, output]));

/** Codecs of an RPC. Decoding throws `invalid_argument` for whatever is not what it should be. */
export function wireMethod(method: DescMethod): WireMethod {
  const { input, output } = wireService(method.parent).method[method.localName] as DescMethod;
  return {
    decodeRequest: (bytes) => decode(input, bytes),
    encodeResponse: messageWriter(method.output),
    encodeRequest: messageWriter(method.input),
    decodeResponse: (bytes) => decode(output, bytes),
  };
}

/** The service as the binary wire has it: its messages are what `toWire` makes and `fromWire` takes. */
export function wireService(service: DescService): DescService {
  const found = wireRegistry.getService(service.typeName);
  if (found === undefined) throw new Error(`${service} is not one of the API's`);
  return found;
}

/** A message of the wire's types as handlers have it: Structs are objects. Throws `invalid_argument` if one is malformed. */
export function fromWire<M extends Message>(message: M): M {
  return structFields.convert(message, decodeStruct);
}

/** A message as handlers answer it, as a message of the wire's types. */
export function toWire<M extends Message>(message: M): M {
  return structFields.convert(message, encodeStruct);
}

function decode(type: DescMessage, bytes: Uint8Array): Message {
  try {
    return fromWire(fromBinary(type, bytes, { readUnknownFields: false }));
  } catch (cause) {
    if (cause instanceof DomainError) throw cause;
    const why = cause instanceof Error ? `: ${cause.message}` : "";
    throw new DomainError("invalid_argument", `The message is not a valid ${type.typeName}${why}`, { cause });
  }
}
