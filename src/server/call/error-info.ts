import { BinaryWriter } from "@bufbuild/protobuf/wire";
import type { ApiError } from "../../api/api-error.js";

/** The type of the detail that tells programs what they expected to be otherwise. */
export const ERROR_INFO = "google.rpc.ErrorInfo";

/** The wire type of texts, bytes and messages. */
const LENGTH_DELIMITED = 2;

type Current = NonNullable<ApiError["current"]>;

export interface ErrorInfo {
  readonly reason: string;
  readonly domain: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** The detail in the form of JSON. */
export function errorInfo({ name, value }: Current): ErrorInfo {
  return { reason: "NOT_AS_EXPECTED", domain: "sessionpool.v1", metadata: { [`current_${name}`]: String(value) } };
}

/** The detail as protobuf. */
export function encodeErrorInfo(current: Current): Uint8Array<ArrayBuffer> {
  const { reason, domain, metadata } = errorInfo(current);
  const writer = new BinaryWriter();
  writeText(writer, 1, reason);
  writeText(writer, 2, domain);
  for (const [key, value] of Object.entries(metadata)) {
    const entry = new BinaryWriter();
    writeText(entry, 1, key);
    writeText(entry, 2, value);
    writeBytes(writer, 3, entry.finish());
  }
  return writer.finish();
}

/** A google.rpc.Status with the detail, as `grpc-status-details-bin` holds it. */
export function encodeStatus(code: number, message: string, current: Current): Uint8Array<ArrayBuffer> {
  const any = new BinaryWriter();
  writeText(any, 1, `type.googleapis.com/${ERROR_INFO}`);
  writeBytes(any, 2, encodeErrorInfo(current));
  const status = new BinaryWriter();
  status.uint32(1 << 3).int32(code);
  writeText(status, 2, message);
  writeBytes(status, 3, any.finish());
  return status.finish();
}

function writeText(writer: BinaryWriter, field: number, text: string): void {
  writer.uint32((field << 3) | LENGTH_DELIMITED).string(text);
}

function writeBytes(writer: BinaryWriter, field: number, bytes: Uint8Array): void {
  writer.uint32((field << 3) | LENGTH_DELIMITED).bytes(bytes);
}
