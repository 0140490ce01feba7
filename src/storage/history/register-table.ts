import type { Call } from "../../domain/call.js";

/** A text with a name, by which the processes that share a database agree on something. */
export interface Register {
  readonly text: string;
  /** 1 at first, and 1 more with each replacement. */
  readonly revision: number;
}

/** The registers of a database, which belong to no namespace. */
export interface RegisterTable {
  /** Read linearizably; null when there is no register with this name. */
  read(name: string, call?: Call): Promise<Register | null>;

  /**
   * Stores a text if the register still has this revision, or, with 0, if there is no register with this name. Resolves
   * to whether it did. After an error, which is not repeated, the text may have been stored.
   */
  replace(name: string, text: string, ifRevision: number, call?: Call): Promise<boolean>;
}
