import { listMessages } from "../api/calls.js";
import type { Message } from "../api/types.js";

const LIMIT = 200;

/** Goes through a session from its newest message back, a page at a time; ends at the first message, or when told to stop. */
export async function walkBack(
  sessionId: string,
  signal: AbortSignal,
  onPage: (newestFirst: readonly Message[]) => boolean,
): Promise<void> {
  let pageToken = "";
  do {
    const page = await listMessages(sessionId, { limit: LIMIT, newestFirst: true, pageToken }, signal);
    if (signal.aborted || !onPage(page.messages)) return;
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
}
