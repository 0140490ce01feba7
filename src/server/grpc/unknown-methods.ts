import type { Server } from "@grpc/grpc-js";

/** What grpc-js keeps private. */
interface WithHandlers {
  readonly handlers: Map<string, object>;
}

const ANY = "/";

/**
 * Passes calls of methods that the server does not have to the gate, which refuses them like all others. By itself
 * grpc-js answers them before any interceptor, whatever their host, without the id of the request, and keeps their
 * streams open until their clients end them.
 */
export function passUnknownMethods(server: Pick<Server, "register">): void {
  const { handlers } = server as unknown as WithHandlers;
  server.register(ANY, () => undefined, Buffer.from, Buffer.from, "unary");
  const any = Map.prototype.get.call(handlers, ANY) as object;
  handlers.get = (path) => (Map.prototype.get.call(handlers, path) as object | undefined) ?? { ...any, path };
}
