import { once } from "node:events";
import { createServer, type Socket, connect as tcpConnect } from "node:net";
import type { Document } from "mongodb";
import {
  commandOf,
  eachMessage,
  replyOf,
  replyTo,
  requestIdOf,
  responseToOf,
  withCommand,
  withReply,
} from "./mongo-wire.js";

/** Makes the proxy answer as another server would than the one it forwards to. */
export interface ServerManner {
  /** Returns an answer in the server's place, and the server never sees the command. Undefined: the server is asked. */
  refuse?(name: string, command: Document): Document | undefined | Promise<Document | undefined>;
  /**
   * Returns the commands to send to the server, which executes all of them; the answer to the last one counts. Absent:
   * only the command itself is sent.
   */
  ask?(name: string, command: Document): readonly Document[];
  /** Rewrites the server's answer. */
  answer?(name: string, reply: Document): Document;
  /** Returns the bytes to send in place of the server's answer, or undefined for the answer as it is. */
  bytes?(name: string, message: Buffer): Buffer | undefined;
}

export interface MongoProxy {
  readonly port: number;
  /**
   * Lets the next command of this name reach the server, and cuts the connection instead of passing its answer on.
   * Resolves when that has happened.
   */
  loseAnswerTo(commandName: string): Promise<void>;
  /**
   * Resets the connection on which the next message of more than this many bytes begins to arrive. The server never
   * sees the message. Resolves when that has happened.
   */
  resetDuringMessage(moreThanBytes: number): Promise<void>;
  close(): Promise<void>;
}

interface Asked {
  readonly name: string;
  /** Called instead of passing the answer on. */
  readonly lose?: (() => void) | undefined;
}

/**
 * Starts a proxy between clients and a server. It can lose answers, and make the server answer as another one would.
 */
export async function startMongoProxy(serverPort: number, manner: ServerManner = {}): Promise<MongoProxy> {
  const sockets = new Set<Socket>();
  let victim: { readonly name: string; readonly tell: () => void } | null = null;
  let reset: { readonly moreThanBytes: number; readonly tell: () => void } | null = null;

  /** Returns the function to call when the answer to this command is to be lost, else undefined. */
  const takeVictim = (name: string) => {
    if (victim?.name !== name) return undefined;
    const { tell } = victim;
    victim = null;
    return tell;
  };

  const server = createServer({ noDelay: true }, (client) => {
    const upstream = tcpConnect({ port: serverPort, host: "127.0.0.1", noDelay: true });
    const cut = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", cut).on("close", () => {
        sockets.delete(socket);
        cut();
      });
    }
    client.on("data", (chunk: Buffer) => {
      // A driver sends one message and waits for its answer, so the first chunk begins with the message's length.
      if (!reset || chunk.length < 4 || chunk.readInt32LE(0) <= reset.moreThanBytes) return;
      client.resetAndDestroy();
      reset.tell();
      reset = null;
    });
    const asked = new Map<number, Asked>();
    const send = async (request: Buffer) => {
      const command = commandOf(request);
      const [name = ""] = Object.keys(command);
      const refusal = await manner.refuse?.(name, command);
      if (refusal) return void client.write(replyTo(request, refusal));
      asked.set(requestIdOf(request), { name, lose: takeVictim(name) });
      if (!manner.ask) return void upstream.write(request);
      const commands = manner.ask(name, command);
      commands.forEach((one, i) => {
        const message = one === command ? request : withCommand(request, one);
        // Only the answer to the last command is awaited. The others get ids that no request has.
        if (i < commands.length - 1) message.writeInt32LE(-1 - i, 4);
        upstream.write(message);
      });
    };
    eachMessage(client, (request) => void send(request).catch((error) => client.destroy(error)));
    eachMessage(upstream, (message) => {
      const request = responseToOf(message);
      if (request < 0) return;
      const answered = asked.get(request);
      asked.delete(request);
      if (answered?.lose) {
        cut();
        answered.lose();
      } else {
        const rewrite = answered && manner.answer;
        const bytes = answered && manner.bytes?.(answered.name, message);
        client.write(bytes ?? (rewrite ? withReply(message, rewrite(answered.name, replyOf(message))) : message));
      }
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    port: (server.address() as { port: number }).port,
    loseAnswerTo: (name) =>
      new Promise((tell) => {
        victim = { name, tell };
      }),
    resetDuringMessage: (moreThanBytes) =>
      new Promise((tell) => {
        reset = { moreThanBytes, tell };
      }),
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}
