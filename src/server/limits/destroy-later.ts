import type { ServerHttp2Session } from "node:http2";

/** Errors of nghttp2 below this leave a session to which nothing more may be passed. */
const FATAL = -900;

/**
 * Has Node destroy a session only after it has read all that arrived with the frame that makes it do so, such as a
 * client's GOAWAY or an answer to a ping that nobody sent. Destroyed in between, the session is gone while its library
 * reads on. Up to Node 22 that ends the process by a failed assertion, and any client could send such bytes.
 */
export function destroyLater(session: ServerHttp2Session): void {
  const { destroy } = session;
  session.destroy = (error?: Error, code?: number) => {
    const { errno = 0 } = (error ?? {}) as NodeJS.ErrnoException;
    if (errno < FATAL) destroy.call(session, error, code);
    else setImmediate(() => destroy.call(session, error, code));
  };
}
