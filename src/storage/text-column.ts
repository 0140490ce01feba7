/**
 * SQLite's driver cuts a TEXT at its first U+0000 when reading it, and PostgreSQL refuses one, so columns hold U+0000
 * as U+0001 followed by `0`, and U+0001 as two of them. Bodies do not need this, because JSON has its own escapes.
 */
export function toColumn(text: string): string {
  return text.includes("\u0000") || text.includes("\u0001")
    ? text.replaceAll("\u0001", "\u0001\u0001").replaceAll("\u0000", "\u00010")
    : text;
}

export function fromColumn(column: string): string {
  if (!column.includes("\u0001")) return column;
  const pieces = column.split("\u0001\u0001");
  return pieces.map((piece) => piece.replaceAll("\u00010", "\u0000")).join("\u0001");
}
