import { GrpcConnection } from "./grpc-connection.js";
import type { Load, LoadConnection, LoadResult } from "./load.js";
import { RestConnection } from "./rest-connection.js";

/** A request to the generator's process. */
export type GeneratorRequest =
  | { readonly kind: "open"; readonly name: string; readonly load: Load }
  | { readonly kind: "run"; readonly name: string; readonly sliceMs: number }
  | { readonly kind: "close"; readonly name: string };

const opened = new Map<string, readonly LoadConnection[]>();

process.on("message", async (request: GeneratorRequest) => {
  try {
    process.send?.({ answer: await carryOut(request) });
  } catch (error) {
    process.send?.({ error: String(error) });
  }
});
process.on("disconnect", () => process.exit());
process.send?.({ answer: "ready" });

async function carryOut(request: GeneratorRequest): Promise<LoadResult | undefined> {
  const { name } = request;
  switch (request.kind) {
    case "open":
      opened.set(name, connections(request.load));
      return undefined;
    case "run":
      return run(opened.get(name) ?? [], request.sliceMs);
    case "close":
      for (const connection of opened.get(name) ?? []) connection.close();
      opened.delete(name);
      return undefined;
  }
}

function connections(load: Load): LoadConnection[] {
  const Connection = load.protocol === "grpc" ? GrpcConnection : RestConnection;
  return Array.from({ length: load.connections }, (_, i) => {
    const path = load.paths?.[i % load.paths.length] ?? load.path;
    return new Connection({ ...load, path }, load.bodies[i % load.bodies.length] ?? new Uint8Array());
  });
}

/**
 * Sends requests for `sliceMs`, and then waits for the last answers.
 *
 * The event loop never sleeps during that time. If it slept, the kernel would have to wake it for an answer, and the
 * sender of the answer would pay for that, up to 20 µs a call on a virtual machine. This happens only if the server is
 * slow enough to leave the generator idle. A fast baseline would pay nothing, and a server that needs 10 µs for a call
 * would seem to need 20 µs or more.
 */
function run(connections: readonly LoadConnection[], sliceMs: number): Promise<LoadResult> {
  return new Promise((resolve, reject) => {
    let calls = 0;
    const begun = performance.now();
    const onAnswer = () => {
      calls += 1;
    };
    let isRunning = true;
    const stayAwake = (): void => {
      if (isRunning) setImmediate(stayAwake);
    };
    stayAwake();
    for (const connection of connections) connection.start(onAnswer, reject);
    setTimeout(() => {
      Promise.all(connections.map((connection) => connection.stop()))
        .then(() => resolve({ calls, elapsedMs: performance.now() - begun }), reject)
        .finally(() => {
          isRunning = false;
        });
    }, sliceMs);
  });
}
