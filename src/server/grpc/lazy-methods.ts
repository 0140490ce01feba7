import type { MethodDefinition, Server, UntypedHandleCall } from "@grpc/grpc-js";

/** The part of a server to which packages add their own services. */
export type ServiceTaker = Pick<Server, "addService">;

/** A method as the server must know it before its package is loaded. */
export interface LazyMethod {
  readonly path: string;
  readonly requestStream?: boolean;
  readonly responseStream?: boolean;
}

interface LoadedMethod {
  readonly definition: MethodDefinition<unknown, unknown>;
  readonly handle: UntypedHandleCall;
}

/**
 * Adds methods of a package that is loaded by the first call of one of them. `load` must pass the services to the taker
 * synchronously.
 */
export function addLazyMethods(
  server: ServiceTaker,
  methods: readonly LazyMethod[],
  load: (taker: ServiceTaker) => void,
): void {
  let all: ReadonlyMap<string, LoadedMethod> | undefined;
  const loaded = (path: string): LoadedMethod => {
    all ??= collect(load);
    return all.get(path)!;
  };
  for (const { path, requestStream = false, responseStream = false } of methods) {
    const definition: MethodDefinition<unknown, unknown> = {
      path,
      requestStream,
      responseStream,
      requestSerialize: (request) => loaded(path).definition.requestSerialize(request),
      requestDeserialize: (bytes) => loaded(path).definition.requestDeserialize(bytes),
      responseSerialize: (response) => loaded(path).definition.responseSerialize(response),
      responseDeserialize: (bytes) => loaded(path).definition.responseDeserialize(bytes),
    };
    const handle = (...given: unknown[]) => (loaded(path).handle as (...given: unknown[]) => unknown)(...given);
    server.addService({ [path]: definition }, { [path]: handle as UntypedHandleCall });
  }
}

function collect(load: (taker: ServiceTaker) => void): ReadonlyMap<string, LoadedMethod> {
  const methods = new Map<string, LoadedMethod>();
  load({
    addService: (definitions, implementation) => {
      for (const [name, definition] of Object.entries(definitions)) {
        const handle = implementation[name] ?? implementation[definition.originalName ?? name];
        methods.set(definition.path, { definition, handle: handle! });
      }
    },
  });
  return methods;
}
