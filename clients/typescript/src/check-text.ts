/**
 * Checks that UTF-8 can hold a text, because the encoder would store U+FFFD in place of a lone surrogate. TypeError: it
 * cannot; the path names the text.
 */
export function checkText(value: unknown, path: string): void {
  if (typeof value === "string" && !value.isWellFormed())
    throw new TypeError(`${path} is not well-formed Unicode: it holds a lone surrogate`);
}
