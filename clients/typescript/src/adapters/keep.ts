import { Code, ConnectError, type NewMessage, type SessionPoolClient } from "../index.js";
import { isTransient } from "../retry.js";
import { type AttachOptions, attached, type Upload } from "./attached.js";
import { hasCode } from "./missing.js";

export interface KeepOptions extends AttachOptions {
  /** Makes the session first if it is missing. */
  readonly createSession?: boolean;
  /** Ids of attachments that the session has already. */
  readonly known?: ReadonlySet<string>;
  /** Cuts what is over a limit, if anything still is. */
  readonly fit: (message: NewMessage) => NewMessage;
  /** Whether to throw `not_found`, which otherwise means the same as from a server without attachments. */
  readonly throwsNotFound?: boolean;
}

/** How many attachments are uploaded at a time. */
const MOST_AT_ONCE = 4;
/** The codes of a service that has no attachments, or takes no more or no larger ones. */
const REFUSALS = [Code.Unimplemented, Code.NotFound, Code.InvalidArgument, Code.ResourceExhausted];

/** The message as it can be stored, after its large values were uploaded. Where they are refused, it is cut. */
export async function keep(
  client: SessionPoolClient,
  sessionId: string,
  message: NewMessage,
  { fit, known = new Set(), createSession = false, throwsNotFound = false, ...options }: KeepOptions,
): Promise<NewMessage> {
  const { message: small, uploads } = await attached(message, options);
  const waiting = uploads.filter(({ attachmentId }) => !known.has(attachmentId)).values();
  const uploadNext = async () => {
    for (const one of waiting) await upload(client, sessionId, one, createSession);
  };
  try {
    await Promise.all(Array.from({ length: MOST_AT_ONCE }, uploadNext));
  } catch (error) {
    if (throwsNotFound && hasCode(error, Code.NotFound)) throw error;
    if (isRefusal(error)) return fit(message);
    throw error;
  }
  return fit(small);
}

/** A service that is only busy now may take it later. */
function isRefusal(error: unknown): boolean {
  return REFUSALS.some((code) => hasCode(error, code)) && !isTransient(ConnectError.from(error));
}

async function upload(client: SessionPoolClient, sessionId: string, { bytes, ...one }: Upload, createSession: boolean) {
  await client.uploadAttachment(sessionId, bytes, { ...one, createSession });
}
