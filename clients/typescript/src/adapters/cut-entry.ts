/** The 3 MiB of a message, less its other fields. */
const MOST_BYTES = 3 * 1024 * 1024 - 20 * 1024;
/** At least this much stays of a text that is cut. Texts up to twice this length are not cut. */
const SHORT = 256;
const MOST_MARKS = 20;
/** What the SDK needs of any entry. */
const OWN = ["type", "uuid", "parentUuid", "sessionId", "timestamp"];
const LONGEST_PATH = 200;
const MOST_WARNED = 1000;

type Fields = { [name: string]: unknown };

/** What was cut, as the other adapters list it in the metadata of a message. */
type Mark = {
  /** Such as `message.content[0].text`. */
  readonly path: string;
  /** The full length in UTF-16 code units. */
  readonly length: number;
};

/** A text of an entry, or a file as a whole, because no model takes what is left of a file that was cut. */
interface Place {
  readonly path: string;
  readonly text: string;
  readonly file: string | undefined;
  readonly set: (value: unknown) => void;
}

const warned = new Set<string>();

/** The JSON of an entry, with its largest texts cut if it does not fit into a message. The cut depends on it alone. */
export function cutEntry(json: string): { readonly text: string; readonly truncated: Mark[] } {
  const truncated: Mark[] = [];
  const paths = new Set<string>();
  if (bytesOf(json) <= MOST_BYTES) return { text: json, truncated };
  let entry = JSON.parse(json) as Fields;
  let text = json;
  const shrink = () => {
    let excess = bytesOf(text) - MOST_BYTES;
    for (const place of placesIn(entry, "").sort((a, b) => b.text.length - a.text.length)) {
      if (excess <= 0 || place.text.length <= 2 * SHORT) break;
      const shortened = cut(place, excess);
      place.set(shortened);
      excess -= jsonBytesOf(place.text) - jsonBytesOf(shortened);
      const path = place.path.slice(0, LONGEST_PATH);
      if (!paths.has(path)) truncated.push({ path, length: place.text.length });
      paths.add(path);
    }
    text = JSON.stringify(entry);
  };
  shrink();
  while (bytesOf(text) > MOST_BYTES) {
    // What is left is many short texts or numbers, which are cut as JSON text.
    const [name, value] = largestOf(entry);
    const valueText = typeof value === "string" ? value : JSON.stringify(value);
    if (valueText.length <= 2 * SHORT) entry = withFieldsAsText(entry);
    else entry[name] = valueText;
    shrink();
  }
  warn(entry, truncated);
  return { text, truncated: truncated.slice(0, MOST_MARKS) };
}

function cut({ text, file }: Place, excess: number): unknown {
  if (file !== undefined) return { type: "text", text: `[truncated: ${file} of ${text.length} characters]` };
  const most = Math.max(SHORT, jsonBytesOf(text) - excess - SHORT);
  let kept = text;
  // Characters that are escaped take more, and may be anywhere in the text.
  for (let bytes = jsonBytesOf(kept); bytes > most && kept.length > SHORT; bytes = jsonBytesOf(kept))
    kept = text.slice(0, Math.max(SHORT, Math.floor((kept.length * most) / bytes)));
  kept = kept.replace(/[\ud800-\udbff]$/, "");
  return `${kept}… [truncated: ${kept.length} of ${text.length} characters]`;
}

/** The texts and files in a value, at any depth. */
function placesIn(value: unknown, path: string): Place[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => {
    const place = Array.isArray(value) ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`;
    const set = (other: unknown) => void Object.defineProperty(value, key, { value: other });
    if (typeof item === "string") return [{ path: place, text: item, file: undefined, set }];
    const { type, source } = (item ?? {}) as { type?: unknown; source?: { type?: unknown; data?: unknown } };
    const data = source?.type === "base64" && (type === "image" || type === "document") ? source.data : undefined;
    if (typeof data === "string") return [{ path: place, text: data, file: `${type}`, set }];
    return placesIn(item, place);
  });
}

function largestOf(entry: Fields): [string, unknown] {
  const sized = Object.entries(entry).map(([name, value]) => ({ name, value, length: JSON.stringify(value).length }));
  const { name, value } = sized.reduce((most, one) => (one.length > most.length ? one : most));
  return [name, value];
}

/** An entry of thousands of short fields, or with long names, with the JSON text of most of them as one field. */
function withFieldsAsText(entry: Fields): Fields {
  const [own, others] = [true, false].map((isOwn) =>
    Object.fromEntries(Object.entries(entry).filter(([name]) => OWN.includes(name) === isOwn)),
  );
  return { ...own, others: JSON.stringify(others) };
}

function jsonBytesOf(value: unknown): number {
  return bytesOf(JSON.stringify(value));
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** Says what was cut, and never its content. */
function warn({ uuid }: Fields, marks: readonly Mark[]): void {
  const id = `${uuid}`;
  if (warned.has(id)) return;
  if (warned.size === MOST_WARNED) warned.clear();
  warned.add(id);
  const places = marks.slice(0, MOST_MARKS).map(({ path, length }) => `${path} (${length})`);
  console.warn(`session-pool: entry ${JSON.stringify(id)} is over a limit and was truncated: ${places.join(", ")}`);
}
