import pg from "pg";
import { guard } from "./guarded-client.js";

/**
 * The server's function that warns when a commit no longer waits for standbys. The text of its warning is translated.
 */
const WAIT_FOR_STANDBYS = "SyncRepWaitForLSN";

/** A connection that knows what the server has said about itself. */
export class PostgresClient extends pg.Client {
  isStandby = false;
  /** Whether a commit has not waited for its standbys since this was set to false. */
  isUnreplicated = false;
  /** The generation of connections to which it belongs. */
  generation = 0;

  constructor(config?: pg.ClientConfig) {
    super(config);
    guard(this);
    const { connection } = this as unknown as { readonly connection: NodeJS.EventEmitter };
    connection.on("parameterStatus", ({ parameterName, parameterValue }) => {
      if (parameterName === "in_hot_standby") this.isStandby = parameterValue === "on";
    });
    // A statement under way is rejected as well. Without a listener the process would end.
    this.on("error", () => {});
    this.on("notice", ({ routine }) => {
      if (routine === WAIT_FOR_STANDBYS) this.isUnreplicated = true;
    });
  }
}
