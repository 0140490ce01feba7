import Database from "libsql";

/** The names of the tables of a SQLite database; empty when it is damaged. */
export function tablesOf(path: string): readonly string[] {
  try {
    const database = new Database(path, { readonly: true, fileMustExist: true } as object);
    try {
      const rows = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all();
      return (rows as { readonly name: string }[]).map(({ name }) => name);
    } finally {
      database.close();
    }
  } catch {
    return [];
  }
}
