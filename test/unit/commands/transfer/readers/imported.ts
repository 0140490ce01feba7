import { importTarget } from "../../../../support/importing.js";

type Found = Awaited<ReturnType<ReturnType<typeof importTarget>["sessions"]>> extends Map<string, infer T> ? T : never;

export interface Imported {
  readonly session: Omit<Found, "messages" | "texts">;
  readonly messages: Found["messages"];
}

/** A store of its own. An import resolves to all its sessions by their ids. */
export function newTarget() {
  const { importFile, importPath, sessions, pathOf } = importTarget();
  /** How many things the last import left out. */
  const last = { leftOut: 0 };
  const after = async ({ leftOut }: { readonly leftOut: number }): Promise<Readonly<Record<string, Imported>>> => {
    last.leftOut = leftOut;
    const all = [...(await sessions())].map(([id, { messages, texts: _texts, ...session }]) => [
      id,
      { session, messages },
    ]);
    return Object.fromEntries(all);
  };
  return {
    last,
    pathOf,
    import: async (name: string, content: string | object) => after(await importFile(content, { name })),
    importFile: async (path: string) => after(await importPath(path)),
  };
}

/** JSON Lines. */
export function lines(...items: readonly unknown[]): string {
  return items.map((item) => `${typeof item === "string" ? item : JSON.stringify(item)}\n`).join("");
}

/** Each message as its role and the texts or types of its parts. */
export function outline({ messages }: Imported): string[] {
  return messages.map(({ role, parts }) => `${role}: ${parts.map(({ type, text }) => text || type).join(" | ")}`);
}
