import type { MethodDefinition, UntypedHandleCall } from "@grpc/grpc-js";
import { describe, expect, it, vi } from "vitest";
import { addLazyMethods, type ServiceTaker } from "../../../../src/server/grpc/lazy-methods.js";

const PATH = "/test.Echo/Say";

function collected() {
  const methods = new Map<string, { definition: MethodDefinition<unknown, unknown>; handle: UntypedHandleCall }>();
  const taker: ServiceTaker = {
    addService: (definitions, implementation) => {
      for (const [name, definition] of Object.entries(definitions)) {
        methods.set(definition.path, { definition, handle: implementation[name]! });
      }
    },
  };
  return { methods, taker };
}

describe("methods of a package that is loaded lazily", () => {
  const load = vi.fn((taker: ServiceTaker) => {
    const identity = (value: unknown) => value as never;
    const [requestSerialize, responseDeserialize] = [identity, identity];
    const requestDeserialize = (bytes: Buffer) => `${bytes}?`;
    const responseSerialize = (text: unknown) => Buffer.from(`${text}!`);
    const codec = { requestSerialize, requestDeserialize, responseSerialize, responseDeserialize };
    const definition = { path: PATH, originalName: "say", requestStream: false, responseStream: true, ...codec };
    const say = (call: unknown, callback: unknown) => [call, callback];
    taker.addService({ Say: definition }, { say: say as unknown as UntypedHandleCall });
  });

  it("are known to the server before the package is loaded, which happens once, at the first call", () => {
    const { methods, taker } = collected();
    addLazyMethods(taker, [{ path: PATH, responseStream: true }], load);
    const { definition, handle } = methods.get(PATH)!;
    expect(definition).toMatchObject({ requestStream: false, responseStream: true });
    expect(load).not.toHaveBeenCalled();
    expect(definition.requestDeserialize(Buffer.from("a"))).toBe("a?");
    expect((handle as unknown as (...given: unknown[]) => unknown)("call", "callback")).toEqual(["call", "callback"]);
    expect(definition.responseSerialize("b").toString()).toBe("b!");
    expect(load).toHaveBeenCalledOnce();
  });
});
