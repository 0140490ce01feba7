import type { Call } from "../../domain/call.js";
import type { Register, RegisterTable } from "../history/log-store.js";
import { fromColumn, toColumn } from "../text-column.js";
import type { SqliteConnection } from "./sqlite-connection.js";

export class SqliteRegisters implements RegisterTable {
  readonly #connection: SqliteConnection;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
  }

  async read(name: string, call?: Call): Promise<Register | null> {
    const { readRegister } = this.#connection.statements;
    const row = await this.#connection.read(() => readRegister.get(toColumn(name)), call);
    return row === undefined ? null : { text: fromColumn(row[0] as string), revision: row[1] as number };
  }

  async replace(name: string, text: string, ifRevision: number, call?: Call): Promise<boolean> {
    const { insertRegister, updateRegister } = this.#connection.statements;
    const [key, body] = [toColumn(name), toColumn(text)];
    const changed = await this.#connection.write(
      () => (ifRevision === 0 ? insertRegister.run(key, body) : updateRegister.run(body, key, ifRevision)),
      call,
    );
    return changed === 1;
  }
}
