/** Keys of the search in all sessions: `/` to type, j and k along the hits; Enter follows the link. */
export function actInSearch(key: string): boolean {
  switch (key) {
    case "/":
      document.getElementById("message-search")?.focus();
      return true;
    case "j":
      return focusHit(1);
    case "k":
      return focusHit(-1);
    default:
      return false;
  }
}

function focusHit(by: number): boolean {
  const hits = [...document.querySelectorAll<HTMLElement>(".hit")];
  const at = hits.indexOf(document.activeElement as HTMLElement);
  const next = at < 0 ? 0 : Math.max(0, Math.min(hits.length - 1, at + by));
  hits[next]?.focus();
  return hits.length > 0;
}
