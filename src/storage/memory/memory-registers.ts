import { type Call, checkCall } from "../../domain/call.js";
import type { Register, RegisterTable } from "../history/log-store.js";

export class MemoryRegisters implements RegisterTable {
  readonly #registers = new Map<string, Register>();

  async read(name: string, call?: Call): Promise<Register | null> {
    checkCall(call);
    return this.#registers.get(name) ?? null;
  }

  async replace(name: string, text: string, ifRevision: number, call?: Call): Promise<boolean> {
    checkCall(call);
    const { revision } = this.#registers.get(name) ?? { revision: 0 };
    if (revision !== ifRevision) return false;
    this.#registers.set(name, { text, revision: revision + 1 });
    return true;
  }
}
