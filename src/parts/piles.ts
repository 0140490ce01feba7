/**
 * Cuts runs of more than 32 combining marks or invisible characters. A browser lays out a character with thousands of
 * marks for minutes, and no writing has more than a few. The vowel AM of Thai and Lao is a letter, but browsers take it
 * apart into a mark and a letter.
 */
export function withoutPiles(text: string): string {
  return text.replace(/([\p{M}\p{Cf}\u0e33\u0eb3]{32})[\p{M}\p{Cf}\u0e33\u0eb3]+/gu, "$1…");
}
