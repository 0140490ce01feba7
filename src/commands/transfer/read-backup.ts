import { type BackupFile, itemOf, lineAt, naming } from "./backup-file.js";
import { BackupScan, imageOf } from "./backup-scan.js";
import { sessionShape } from "./file-shapes.js";
import type { ForeignBackup } from "./foreign/growth.js";
import type { ImportNotes } from "./foreign/import-notes.js";
import type { Line, LineSource } from "./lines.js";
import { FILE_HEADER, FILE_VERSIONS } from "./session-file.js";
import { integer, object, optional, string } from "./shape.js";

/** How each header begins, which no other line of a file does. */
const HEADER_START = `{"format":"${FILE_HEADER.format}"`;

const headerShape = object({ version: integer(), namespace: optional(string, undefined) });

/** The sessions of one namespace in a file. */
export interface BackupSection {
  /** Absent when the sessions may go to any namespace. */
  readonly namespace: string | undefined;
  readonly file: BackupFile | ForeignBackup;
}

/**
 * Reads a whole file of version 2 to 4, which has a section for each header. Throws an Error that names the first
 * invalid line. An attachment whose bytes are damaged is noted and left out.
 */
export async function readBackup(source: LineSource, notes: ImportNotes): Promise<readonly BackupSection[]> {
  const sections: BackupSection[] = [];
  let section: { readonly namespace: string | undefined; readonly scan: BackupScan } | undefined;
  const end = () => {
    if (section) sections.push({ namespace: section.namespace, file: fileOf(source, section.scan) });
  };
  for await (const line of source.lines()) {
    const header = headerOf(source, line);
    if (header) end();
    if (header) section = { namespace: header.namespace, scan: new BackupScan(source, notes) };
    else section?.scan.add(line);
  }
  end();
  return sections;
}

function headerOf(source: LineSource, line: Line): { readonly namespace: string | undefined } | undefined {
  if (line.number > 1 && !line.text.startsWith(HEADER_START)) return undefined;
  return naming(source, line, () => {
    const { version, namespace } = headerShape(JSON.parse(line.text), "");
    if (!FILE_VERSIONS.includes(version)) {
      throw new Error(`version must be ${FILE_VERSIONS.join(" or ")}, but it is ${version}`);
    }
    if (namespace === "") throw new Error("namespace must not be empty");
    return { namespace };
  });
}

function fileOf(source: LineSource, scan: BackupScan): BackupFile {
  const { index } = scan;
  return {
    index,
    todos: scan.end(),
    missingCount: scan.missingCount,
    session: async (i) => imageOf(sessionShape(itemOf(source, await lineAt(source, index, i)).session, "session")),
  };
}
