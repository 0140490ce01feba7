/** Builds the program and the library into a folder, and removes what an earlier build left there. */
export function buildInto(folder: string): Promise<void>;
/** Builds the client's package for browsers and Node.js into a folder, and removes what an earlier build left there. */
export function buildClientInto(folder: string): Promise<void>;
