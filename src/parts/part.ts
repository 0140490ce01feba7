/** A value that JSON can hold. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

export interface JsonObject {
  readonly [name: string]: Json;
}

/** What a part says of bytes that are stored beside the messages. */
export interface PartAttachment {
  readonly attachmentId: string;
  readonly mediaType: string;
  readonly name: string;
  /** A number of bytes; over REST, as a text. */
  readonly size: number | string;
  readonly sha256: string;
  /** Whether the bytes were left out of the backup that the message comes from. */
  readonly missing?: boolean | undefined;
}

/** As much of a part as is needed to recognise it. The service and its web page each have more. */
export interface Part {
  readonly type: string;
  readonly text: string;
  readonly data?: JsonObject | undefined;
  readonly attachment?: PartAttachment | undefined;
}

export interface Message {
  readonly info: { readonly metadata?: JsonObject | undefined };
  readonly parts: readonly Part[];
}
