import { useEffect, useState } from "preact/hooks";
import { readAttachment } from "../api/attachments.js";
import type { PartAttachment } from "../api/types.js";
import { reasonOf } from "../state/toasts.js";

export interface LoadedAttachment {
  /** An address of this page's memory, once the bytes are there. */
  readonly address?: string;
  /** Number of bytes that have come. */
  readonly read: number;
  /** Why they did not come; empty when nothing went wrong. */
  readonly problem: string;
}

const NOTHING: LoadedAttachment = { read: 0, problem: "" };

/**
 * The bytes of an attachment, read from the service with the page's key or ticket once they are wanted, and forgotten
 * when they are not shown any more.
 */
export function useAttachment(sessionId: string, attachment: PartAttachment, isWanted: boolean): LoadedAttachment {
  const [loaded, setLoaded] = useState(NOTHING);
  const { attachmentId, sha256 } = attachment;
  useEffect(() => {
    setLoaded(NOTHING);
    if (!isWanted) return;
    const left = new AbortController();
    let address: string | undefined;
    const { signal } = left;
    readAttachment(sessionId, attachment, { signal, onRead: (read) => setLoaded({ read, problem: "" }) }).then(
      (blob) => {
        if (signal.aborted) return;
        address = URL.createObjectURL(blob);
        setLoaded({ address, read: blob.size, problem: "" });
      },
      (error: unknown) => signal.aborted || setLoaded({ read: 0, problem: reasonOf(error) }),
    );
    return () => {
      left.abort();
      if (address !== undefined) URL.revokeObjectURL(address);
    };
  }, [sessionId, attachmentId, sha256, isWanted]);
  return loaded;
}
