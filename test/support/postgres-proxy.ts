import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { endsAnswer, endsStatement, messageReader, notice, textOf } from "./postgres-wire.js";

/**
 * What happens to a statement, and to the connection on which its client waits.
 * `lost`: the connection breaks, and nothing of the statement has reached the server.
 * `lost half way`: the same, and half of it has.
 * `not finished`: the same, and all has but the message that lets the server commit.
 * `running`: the server carries it out, but the connection breaks at once.
 * `late`: the connection breaks, and the server gets the statement when `deliver` is called.
 * `answer lost`: the connection breaks when the server has answered.
 * `answer lost half way`: the same, and half of the answer has arrived.
 * `warned`: the answer comes after a warning of a server that speaks German.
 */
export const FATES = [
  "lost",
  "lost half way",
  "not finished",
  "running",
  "answer lost",
  "answer lost half way",
] as const;
export type Fate = (typeof FATES)[number] | "late" | "warned";

/** Statements that have met their fate, in this order. */
export interface Met {
  /** Resolves when the first one has. For one that reaches the server: when the server has got it. */
  readonly first: Promise<void>;
  /** Sends a statement that is late to the server. Resolves when the server has answered it. */
  deliver(): Promise<void>;
}

export interface PostgresProxy {
  readonly port: number;
  /** The texts of all statements that clients have sent, without those of fates. */
  readonly statements: string[];
  /** How many connections pass through it. */
  readonly connections: number;
  /** How many requests to cancel a statement have passed. */
  readonly cancels: number;
  /** Lets no request to cancel through from now on. */
  keepCancels(): void;
  /** Undoes that. Resolves when the server has taken the requests that were kept. */
  passCancels(): Promise<void>;
  /** Lets no further statement through until the function that it returns is called. */
  hold(): () => void;
  /** Decides about the next statement for which this returns a fate. Only one waits at a time. */
  meet(fateOf: (text: string) => Fate | undefined): Met;
  close(): Promise<void>;
}

interface Waiting {
  readonly fateOf: (text: string) => Fate | undefined;
  readonly tell: () => void;
  readonly keep: (deliver: () => Promise<void>) => void;
}

const CANCEL_BYTES = 16;
const GERMAN = {
  S: "WARNUNG",
  V: "WARNING",
  C: "01000",
  M: "storniere Warten auf synchrone Replikation",
  R: "SyncRepWaitForLSN",
};

/** Passes connections on to a PostgreSQL server on this machine, and breaks them where a test wants it. */
export async function startPostgresProxy(serverPort: number): Promise<PostgresProxy> {
  const sockets = new Set<Socket>();
  const statements: string[] = [];
  let cancels = 0;
  let waiting: Waiting | undefined;
  let held: Promise<void> | undefined;
  let keptCancels: Buffer[] | undefined;

  // Otherwise each message would wait for the acknowledgement of the one before.
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ port: serverPort, host: "127.0.0.1", noDelay: true });
    const prepared = new Map<string, string>();
    let isCut = false;
    const cut = () => {
      isCut = true;
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket
        .on("error", () => {})
        .on("close", () => {
          sockets.delete(socket);
          if (!isCut) cut();
        });
    }
    /** Takes the whole answer to a statement instead of the client. */
    let onAnswer: ((answer: Buffer) => void) | undefined;
    let answer: Buffer[] = [];
    upstream.on(
      "data",
      messageReader((message) => {
        if (!onAnswer) return void client.write(message);
        answer.push(message);
        if (!endsAnswer(message)) return;
        const take = onAnswer;
        const whole = Buffer.concat(answer);
        onAnswer = undefined;
        answer = [];
        take(whole);
      }, false),
    );

    /** Does to a statement what its fate is. Resolves when that has happened. */
    const fulfil: Readonly<Record<Fate, (statement: Buffer, last: Buffer, keep: Waiting["keep"]) => Promise<void>>> = {
      lost: async () => cut(),
      "lost half way": (statement) => sendThen(statement.subarray(0, statement.length >> 1), cut),
      "not finished": (statement, last) => sendThen(statement.subarray(0, statement.length - last.length), cut),
      running: async (statement) => {
        isCut = true;
        client.destroy();
        // Destroying this end as well might take away what the server has not read yet.
        upstream.end(statement);
      },
      late: async (statement, _last, keep) => {
        isCut = true;
        client.destroy();
        keep(async () => {
          await sendThen(statement, () => {});
          await new Promise<void>((resolve) => {
            onAnswer = () => resolve();
          });
          upstream.destroy();
        });
      },
      "answer lost": (statement) => answerThen(statement, cut),
      "answer lost half way": (statement) =>
        answerThen(statement, (whole) => client.write(whole.subarray(0, whole.length >> 1), cut)),
      warned: (statement) => answerThen(statement, (whole) => client.write(Buffer.concat([notice(GERMAN), whole]))),
    };
    const sendThen = (bytes: Buffer, then: () => void) =>
      new Promise<void>((resolve) => {
        upstream.write(bytes, () => {
          then();
          resolve();
        });
      });
    const answerThen = (statement: Buffer, then: (whole: Buffer) => void) =>
      new Promise<void>((resolve) => {
        onAnswer = (whole) => {
          then(whole);
          resolve();
        };
        upstream.write(statement);
      });

    let isFirst = true;
    let messages: Buffer[] = [];
    client.on(
      "data",
      messageReader((message) => {
        const isCancel = isFirst && message.length === CANCEL_BYTES;
        isFirst = false;
        if (isCancel) cancels += 1;
        if (isCancel && keptCancels) return void keptCancels.push(message);
        messages.push(message);
        if (!endsStatement(message) && messages.length === 1 && !EXTENDED.test(String.fromCharCode(message[0] ?? 0))) {
          messages = [];
          upstream.write(message);
        } else if (endsStatement(message)) {
          const text = textOf(messages, prepared);
          const statement = Buffer.concat(messages);
          messages = [];
          const fate = waiting?.fateOf(text);
          if (waiting && fate) {
            const { tell, keep } = waiting;
            waiting = undefined;
            void fulfil[fate](statement, message, keep).then(tell);
          } else {
            statements.push(text);
            if (held) void held.then(() => upstream.write(statement));
            else upstream.write(statement);
          }
        }
      }, true),
    );
  }).listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    get connections() {
      return sockets.size / 2;
    },
    port: (server.address() as AddressInfo).port,
    statements,
    get cancels() {
      return cancels;
    },
    keepCancels() {
      keptCancels = [];
    },
    async passCancels() {
      const kept = keptCancels ?? [];
      keptCancels = undefined;
      for (const message of kept) {
        const socket = connect(serverPort, "127.0.0.1");
        socket.end(message).resume();
        await once(socket, "close");
      }
    },
    hold() {
      let release = () => {};
      held = new Promise((resolve) => {
        release = () => {
          held = undefined;
          resolve();
        };
      });
      return release;
    },
    meet(fateOf) {
      let deliver: () => Promise<void> = () => Promise.reject(new Error("No statement is late"));
      const first = new Promise<void>((tell) => {
        const keep = (later: () => Promise<void>) => {
          deliver = later;
        };
        waiting = { fateOf, tell, keep };
      });
      return { first, deliver: () => deliver() };
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}

/** Parse, Bind, Describe, Execute, Close and Flush, which a Sync follows. */
const EXTENDED = /[PBDECH]/;
