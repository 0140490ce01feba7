/** Builds into a folder, and removes what an earlier build left there. */
export function buildInto(folder: string): Promise<void>;
