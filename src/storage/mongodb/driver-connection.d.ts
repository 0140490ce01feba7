/** Not part of the driver's public interface; package.json fixes the version of the driver. */
declare module "mongodb/lib/cmap/connection.js" {
  export class Connection {
    command(namespace: unknown, command: unknown, options?: unknown, responseType?: unknown): Promise<unknown>;
    /** Closes the connection. Commands under way fail with this error. */
    onError(error: Error): void;
  }
}
