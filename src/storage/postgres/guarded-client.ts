import type { Socket } from "node:net";
import type pg from "pg";

/**
 * Ends a connection on which the server sends a message that the driver cannot read. The driver throws then, in a
 * listener of the socket, which would end the process.
 */
export function guard(client: pg.Client): void {
  const { connection } = client as unknown as { readonly connection: { attachListeners(stream: Socket): void } };
  const attach = connection.attachListeners.bind(connection);
  connection.attachListeners = (stream) => {
    attach(stream);
    for (const read of stream.listeners("data") as ((chunk: Buffer) => void)[]) {
      stream.off("data", read);
      stream.on("data", (chunk: Buffer) => {
        try {
          read(chunk);
        } catch (error) {
          stream.destroy(new Error("PostgreSQL has sent what cannot be read", { cause: error }));
        }
      });
    }
  };
}
