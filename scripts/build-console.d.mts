/** Builds the web page into a folder, beside what is there. */
export function buildConsole(folder: string): Promise<void>;
