/** What is typed into the fields of a filter, as the service takes it. */

export function wordsOf(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}

/** A time of a form's field, as the service takes it; undefined when there is none. */
export function timeOf(local: string): string | undefined {
  const at = Date.parse(local);
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}

/** Whose sessions are asked for. `""`, in quotation marks, means those without an owner; no text means all. */
export function ownerOf(text: string): { readonly owner?: string } {
  const name = text.trim();
  return name === "" ? {} : { owner: name === '""' ? "" : name };
}

/** The query of an address: the values that differ from the usual ones. */
export function queryFrom<Filter extends object>(filter: Filter, usual: Partial<Filter> = {}): string {
  const set = Object.entries(filter).filter(([name, value]) => value !== (usual[name as keyof Filter] ?? ""));
  return new URLSearchParams(set.map(([name, value]) => [name, String(value)])).toString();
}
