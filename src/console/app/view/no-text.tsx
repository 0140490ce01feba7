/** Stands where a message or an entry has nothing to show. */
export function NoText() {
  return <span class="muted">(no text)</span>;
}
