import type { Call } from "../../domain/call.js";
import type { Register, RegisterTable } from "../history/log-store.js";
import { fromColumn, toColumn } from "../text-column.js";
import type { PostgresShared } from "./shared.js";

export class PostgresRegisters implements RegisterTable {
  readonly #shared: Pick<PostgresShared, "pool" | "sql">;

  constructor(shared: Pick<PostgresShared, "pool" | "sql">) {
    this.#shared = shared;
  }

  async read(name: string, call?: Call): Promise<Register | null> {
    const { pool, sql } = this.#shared;
    const [row] = await pool.read(sql.readRegister, [toColumn(name)], call);
    return row === undefined ? null : { text: fromColumn(row[0] as string), revision: row[1] as number };
  }

  async replace(name: string, text: string, ifRevision: number, call?: Call): Promise<boolean> {
    const { pool, sql } = this.#shared;
    const values = [toColumn(name), toColumn(text)];
    const rows =
      ifRevision === 0
        ? await pool.writeOnce(sql.insertRegister, values, call)
        : await pool.writeOnce(sql.updateRegister, [...values, ifRevision], call);
    return rows.length === 1;
  }
}
