/** Not part of the driver's public interface; package.json fixes the version of the driver. */
declare module "mongodb/lib/cmap/connection.js" {
  import type { Duplex, Transform } from "node:stream";

  export type ConnectionOptions = object;

  export class Connection {
    constructor(stream: Duplex, options: ConnectionOptions);
    readonly address: string;
    readonly closed: boolean;
    readonly description: {
      /** The way of compression that client and server have agreed on. */
      readonly compressor?: string | null | undefined;
    };
    /** Cuts what arrives into messages. */
    readonly messageStream: Transform;
    command(namespace: unknown, command: unknown, options?: unknown, responseType?: unknown): Promise<unknown>;
    /** Closes the connection. Commands under way fail with this error. */
    onError(error: Error): void;
  }
}
