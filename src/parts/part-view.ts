import type { Json, PartAttachment } from "./part.js";

/** A picture: either its bytes, if the message holds them, or its address, which is never loaded. */
export interface ImageView {
  readonly kind: "image";
  readonly name: string;
  readonly mediaType: string;
  /** A `data:` URL of a type that cannot hold a script; absent when there is nothing safe to show. */
  readonly source?: string;
  /** The address of a picture that the message does not hold. */
  readonly address?: string;
}

/** `asking`: the call waits for somebody's approval. `unended`: nobody will end it any more. */
export type CallStatus = "pending" | "asking" | "running" | "done" | "failed" | "denied" | "unended";

/** The output of a tool. */
export interface Output {
  readonly text?: string;
  readonly json?: Json;
  readonly images: readonly ImageView[];
}

export interface CallView {
  readonly kind: "call";
  readonly callId: string;
  readonly name: string;
  readonly args: Json | undefined;
  /** Absent when the part does not say; the result then does. */
  readonly status?: CallStatus;
  readonly output?: Output;
  readonly durationMs?: number;
}

export interface ResultView {
  readonly kind: "result";
  readonly callId: string;
  readonly name: string;
  readonly isError: boolean;
  readonly output: Output;
}

/** A part of any known format, as the page shows it. */
export type PartView =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "reasoning"; readonly text: string }
  | CallView
  | ResultView
  | ImageView
  | { readonly kind: "file"; readonly name: string; readonly mediaType: string; readonly detail: string }
  | { readonly kind: "attachment"; readonly attachment: PartAttachment }
  | { readonly kind: "error"; readonly text: string }
  | { readonly kind: "erased" }
  | { readonly kind: "note"; readonly label: string; readonly text: string; readonly data?: Json }
  | { readonly kind: "data"; readonly type: string; readonly text: string; readonly data?: Json };
