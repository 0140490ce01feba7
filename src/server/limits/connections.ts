import type { Socket } from "node:net";

/**
 * The connections of this process, on both ports. Beyond the limit, a new connection replaces the one that has been
 * without a call for longest, so that silent connections cannot keep others out: first those that have sent nothing at
 * all, then those that have not made a call yet, and only then those that have. So a client that is slow to make its
 * first call is not replaced by connections that say nothing.
 */
export class Connections {
  readonly #limit: number;
  readonly #open = new Set<Connection>();
  /** Connections that had sent nothing when this was last looked at, the oldest first. */
  readonly #silent = new Set<Connection>();
  /** Connections that have sent something, but have not made a call yet. */
  readonly #greeted = new Set<Connection>();
  /** Connections between two calls. */
  readonly #idle = new Set<Connection>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Returns undefined, and closes the socket, when every connection has a running call. */
  add(socket: Socket): Connection | undefined {
    if (this.#open.size >= this.#limit) {
      const longest = this.#longestWithoutCall();
      if (longest === undefined) {
        socket.destroy();
        return undefined;
      }
      longest.destroy();
    }
    const connection: Connection = new Connection(socket, {
      onBusy: () => move(connection, undefined),
      onIdle: () => move(connection, this.#idle),
      onEnd: () => {
        this.#open.delete(connection);
        move(connection, undefined);
      },
    });
    this.#open.add(connection);
    move(connection, this.#silent);
    return connection;
  }

  #longestWithoutCall(): Connection | undefined {
    for (const connection of this.#silent) {
      if (!connection.hasSpoken) return connection;
      move(connection, this.#greeted);
    }
    const [longest] = this.#greeted.size > 0 ? this.#greeted : this.#idle;
    return longest;
  }
}

/** Puts the connection at the end of another queue, or of none while it has a call. */
function move(connection: Connection, queue: Set<Connection> | undefined): void {
  connection.queue?.delete(connection);
  connection.queue = queue;
  queue?.add(connection);
}

interface ConnectionHooks {
  readonly onBusy: () => void;
  readonly onIdle: () => void;
  readonly onEnd: () => void;
}

/** One connection and the number of its running calls. */
export class Connection {
  /** Where it waits for a call; belongs to `Connections`. */
  queue: Set<Connection> | undefined;
  readonly #socket: Socket;
  readonly #hooks: ConnectionHooks;
  readonly #endListeners = new Set<() => void>();
  readonly #openedMs = performance.now();
  #calls = 0;
  #hasEnded = false;

  constructor(socket: Socket, hooks: ConnectionHooks) {
    this.#socket = socket;
    this.#hooks = hooks;
    socket.once("close", () => this.#end());
  }

  get ageMs(): number {
    return performance.now() - this.#openedMs;
  }

  /** Whether anything has arrived on it. */
  get hasSpoken(): boolean {
    return this.#socket.bytesRead > 0;
  }

  enter(): void {
    this.#calls += 1;
    if (this.#calls === 1) this.#hooks.onBusy();
  }

  leave(): void {
    this.#calls -= 1;
    if (this.#calls === 0 && !this.#hasEnded) this.#hooks.onIdle();
  }

  /** Calls the listener once, when the connection has ended; at once if it has ended already. */
  onEnd(listener: () => void): void {
    if (this.#hasEnded) listener();
    else this.#endListeners.add(listener);
  }

  /** Ends it at once. Its place is free before the socket reports that it is closed. */
  destroy(): void {
    this.#socket.destroy();
    this.#end();
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#hooks.onEnd();
    for (const listener of this.#endListeners) listener();
    this.#endListeners.clear();
  }
}
