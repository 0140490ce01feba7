import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface CuttingProxy {
  /** `http://host:port`. */
  readonly url: string;
  readonly cuts: number;
  close(): Promise<void>;
}

/**
 * Passes connections on to a server and cuts each after a random number of bytes, up to `maxBytes`. Half of the
 * connections are closed, and half are reset. `random` returns numbers from 0 up to 1.
 */
export async function startCuttingProxy(
  targetPort: number,
  { maxBytes, random }: { readonly maxBytes: number; readonly random: () => number },
): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  let cuts = 0;
  const server = createServer({ noDelay: true }, (client) => {
    const target = connect({ port: targetPort, host: "127.0.0.1", noDelay: true });
    let left = 1 + Math.floor(random() * maxBytes);
    const isReset = random() < 0.5;
    const end = () => {
      client.destroy();
      target.destroy();
    };
    const pass = (from: Socket, to: Socket) => {
      sockets.add(from);
      from.on("error", end).on("close", () => {
        sockets.delete(from);
        end();
      });
      from.on("data", (chunk: Buffer) => {
        if (left === 0) return;
        const passed = chunk.subarray(0, left);
        left -= passed.length;
        to.write(passed);
        if (left > 0) return;
        cuts += 1;
        if (isReset) client.resetAndDestroy();
        else client.end();
        target.destroy();
      });
    };
    pass(client, target);
    pass(target, client);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get cuts() {
      return cuts;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}
