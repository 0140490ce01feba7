export type Labels = Readonly<Record<string, string>>;

/** Reads lines such as `team=ops` and `-team` as a change of labels. */
export function changeOf(text: string): (labels: Labels) => Labels {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return (labels) => {
    const changed = new Map(Object.entries(labels));
    for (const line of lines) {
      const at = line.indexOf("=");
      if (at < 0 && line.trim().startsWith("-")) changed.delete(line.trim().slice(1).trim());
      else if (at < 0) changed.set(line.trim(), "");
      else changed.set(line.slice(0, at).trim(), line.slice(at + 1).trim());
    }
    return Object.fromEntries(changed);
  };
}
