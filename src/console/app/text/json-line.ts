const LINE_ENDS = /[\u0085\u2028\u2029]/g;

/** A value as a line of JSON Lines. Escapes what JSON allows but some readers of lines take for their ends. */
export function jsonLine(value: object): string {
  const json = JSON.stringify(value);
  return `${json.replace(LINE_ENDS, (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, "0")}`)}\n`;
}
