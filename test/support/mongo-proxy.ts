import { once } from "node:events";
import { createServer, type Socket, connect as tcpConnect } from "node:net";

const HEADER_BYTES = 16;
const OP_MSG = 2013;
/** Header, flags, kind of the first section, length and type of its first field. */
const NAME_AT = HEADER_BYTES + 4 + 1 + 4 + 1;

export interface MongoProxy {
  readonly port: number;
  /** The next command of this name reaches the server, but its answer is not let through: the connection is cut instead. Resolves when that happened. */
  loseAnswerTo(commandName: string): Promise<void>;
  close(): Promise<void>;
}

/** Stands between a client and a server, and loses answers: the one fault that a server cannot be asked for. */
export async function startMongoProxy(serverPort: number): Promise<MongoProxy> {
  const sockets = new Set<Socket>();
  let victim: { readonly name: string; readonly tell: () => void } | null = null;

  const server = createServer((client) => {
    const upstream = tcpConnect(serverPort, "127.0.0.1");
    const cut = () => {
      client.destroy();
      upstream.destroy();
    };
    /** Requests whose answers are to be lost. */
    const lost = new Map<number, () => void>();
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", cut).on("close", () => {
        sockets.delete(socket);
        cut();
      });
    }
    eachMessage(client, (message) => {
      if (victim && commandName(message) === victim.name) {
        lost.set(message.readInt32LE(4), victim.tell);
        victim = null;
      }
      upstream.write(message);
    });
    eachMessage(upstream, (message) => {
      const tell = lost.get(message.readInt32LE(8));
      if (!tell) return void client.write(message);
      cut();
      tell();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    port: (server.address() as { port: number }).port,
    loseAnswerTo: (name) =>
      new Promise((tell) => {
        victim = { name, tell };
      }),
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}

/** Whole messages of the wire protocol, however the network cuts them. */
function eachMessage(socket: Socket, take: (message: Buffer) => void): void {
  let pending = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length >= HEADER_BYTES && pending.length >= pending.readInt32LE(0)) {
      const length = pending.readInt32LE(0);
      take(Buffer.from(pending.subarray(0, length)));
      pending = pending.subarray(length);
    }
  });
}

function commandName(message: Buffer): string | null {
  if (message.readInt32LE(12) !== OP_MSG) return null;
  return message.subarray(NAME_AT, message.indexOf(0, NAME_AT)).toString();
}
