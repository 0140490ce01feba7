import { Metadata, type status } from "@grpc/grpc-js";
import { toApiError } from "../../api/error-mapping.js";

export interface Status {
  readonly code: status;
  readonly details: string;
  readonly metadata: Metadata;
}

/** grpc-js ends the process when a text contains a lone surrogate. */
export function toStatus(error: unknown): Status {
  const { code, message, retryAfterS } = toApiError(error);
  const metadata = new Metadata();
  if (retryAfterS !== undefined) metadata.set("retry-after", String(retryAfterS));
  return { code: code as number, details: Buffer.from(message).toString(), metadata };
}

export function headerOf(metadata: Metadata, name: string): string | undefined {
  const values = metadata.get(name);
  return values.length === 0 ? undefined : values.join(", ");
}
