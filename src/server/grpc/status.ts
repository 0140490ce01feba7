import { Metadata, type status } from "@grpc/grpc-js";
import { toApiError } from "../../api/error-mapping.js";
import { encodeStatus } from "../call/error-info.js";

export interface Status {
  readonly code: status;
  readonly details: string;
  readonly metadata: Metadata;
}

/** grpc-js ends the process when a text contains a lone surrogate. */
export function toStatus(error: unknown): Status {
  const { code, message, retryAfterS, current } = toApiError(error);
  const details = Buffer.from(message).toString();
  const metadata = new Metadata();
  if (retryAfterS !== undefined) metadata.set("retry-after", String(retryAfterS));
  if (current !== undefined) metadata.set("grpc-status-details-bin", Buffer.from(encodeStatus(code, details, current)));
  return { code: code as number, details, metadata };
}
