/**
 * Text that others wrote must not control the terminal, so control characters except line breaks and tabs are shown as
 * escapes.
 */
export function printable(text: string): string {
  return text.replace(/(?![\n\t])[\p{Cc}\p{Bidi_Control}]/gu, escaped);
}

/**
 * Shows all control characters as escapes, for a field that has one line: with a line break in it, a title could pass
 * for another session.
 */
export function printableInLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}]/gu, escaped);
}

function escaped(control: string): string {
  return `\\u${control.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
