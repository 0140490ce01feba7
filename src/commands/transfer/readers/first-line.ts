const MOST_CHARACTERS = 100;

/** The first line of what the user said first, for sessions of programs that have no titles. */
export function firstLine(text: string): string {
  const [line = ""] = text.trim().split("\n", 1);
  const characters = [...line.trim()];
  return characters.length <= MOST_CHARACTERS ? line.trim() : `${characters.slice(0, MOST_CHARACTERS - 1).join("")}…`;
}
