import type { DescMethod, Message } from "@bufbuild/protobuf";
import { file_sessionpool_v1_todo_service as todoFile } from "../../gen/sessionpool/v1/todo_service_pb.js";
import { DomainError } from "../domain/errors.js";
import type { ApiContext, ApiMethod } from "./api-method.js";
import { idHider } from "./hidden-ids.js";

type Unary = NonNullable<ApiMethod["unary"]>;
type Stream = NonNullable<ApiMethod["stream"]>;
type Upload = NonNullable<ApiMethod["upload"]>;

/**
 * What every RPC does besides for callers with limited access: a ticket is for the session that the request names, the
 * todo list may be hidden, and answers name no session that the caller may not see. Other callers get the handler's own
 * promise, because one more would cost a tenth of a small call.
 */
export function limitUnary(desc: DescMethod, handle: Unary): Unary {
  const hideIds = idHider(desc.output);
  const limited: Unary = async (request, context) => {
    checkAccess(desc, request, context);
    return await hideIds(await handle(request, context), request, context);
  };
  return (request, context) => (context.access === undefined ? handle(request, context) : limited(request, context));
}

/** The same for a stream of the client. */
export function limitUpload(desc: DescMethod, handle: Upload): Upload {
  const hideIds = idHider(desc.output);
  return async (first, rest, context) => {
    if (context.access === undefined) return handle(first, rest, context);
    checkAccess(desc, first, context);
    return hideIds(await handle(first, rest, context), first, context);
  };
}

/** The same for a stream of the server. */
export function limitStream(desc: DescMethod, handle: Stream): Stream {
  const hideIds = idHider(desc.output);
  const limited: Stream = async (request, context) => {
    checkAccess(desc, request, context);
    return mapEach(await handle(request, context), (event) => hideIds(event, request, context));
  };
  return (request, context) => (context.access === undefined ? handle(request, context) : limited(request, context));
}

/**
 * Throws `permission_denied` when the request is for another session than the caller's ticket, or for a todo list that
 * the server hides from the caller.
 */
function checkAccess(desc: DescMethod, request: Message, { access, hidesTodos }: ApiContext): void {
  if (hidesTodos && desc.parent.file === todoFile) {
    const text = `${desc.name} needs a caller without an owner: --hide-todos-from-owners hides the todo list`;
    throw new DomainError("permission_denied", text);
  }
  if (access === undefined || "owner" in access) return;
  const { sessionId } = request as { readonly sessionId?: unknown };
  if (sessionId === access.ticket.sessionId) return;
  throw new DomainError("permission_denied", `The ticket is for another session than the one that ${desc.name} names`);
}

/**
 * Maps each item of an iterable. Unlike a generator, it ends the source even when nothing was read from it, so that
 * nothing stays open.
 */
export function mapEach<From, To>(
  source: AsyncIterable<From>,
  map: (item: From) => To | Promise<To>,
): AsyncIterable<To> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = source[Symbol.asyncIterator]();
      return {
        async next() {
          const result = await iterator.next();
          return result.done ? { done: true, value: undefined } : { done: false, value: await map(result.value) };
        },
        async return() {
          await iterator.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
