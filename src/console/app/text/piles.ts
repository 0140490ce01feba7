/**
 * Cuts runs of more than 32 combining marks or invisible characters. A browser lays out a character with thousands of
 * marks for minutes, and no writing has more than a few.
 */
export function withoutPiles(text: string): string {
  return text.replace(/([\p{M}\p{Cf}]{32})[\p{M}\p{Cf}]+/gu, "$1…");
}
