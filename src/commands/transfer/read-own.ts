import { FILE_HEADER, type FileItem } from "./session-file.js";

/** Items of this program's own files; throws an Error that names the line. */
export async function* readOwn(lines: AsyncIterable<string>): AsyncIterable<FileItem> {
  let number = 0;
  for await (const line of lines) {
    number += 1;
    if (line === "") continue;
    const value = parseLine(line, number);
    if (number === 1) checkVersion(value as { version?: unknown });
    else yield value as FileItem;
  }
}

function parseLine(line: string, number: number): object {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw new Error(`Line ${number} is not valid JSON`, { cause });
  }
  if (typeof value !== "object" || value === null) throw new Error(`Line ${number} is no object`);
  const kinds = ["session", "message", "todos"].filter((kind) => kind in value);
  if (number > 1 && kinds.length !== 1) throw new Error(`Line ${number} is neither a session, a message nor todos`);
  return value;
}

function checkVersion({ version }: { version?: unknown }): void {
  if (version !== FILE_HEADER.version)
    throw new Error(`The file has version ${String(version)}; this program reads ${FILE_HEADER.version}`);
}
