import type { CommandStartedEvent, Document, MongoClient } from "mongodb";

/** What the driver adds to a command and explain does not take. */
const ADDED = ["lsid", "$db", "$clusterTime", "readConcern", "writeConcern", "maxTimeMS", "apiVersion"];
/** Sent by the driver on its own account. */
const UPKEEP: ReadonlySet<string> = new Set(["endSessions", "hello", "ismaster", "isMaster", "killCursors"]);

export interface SentCommand {
  /** `find`, `insert`, … */
  readonly name: string;
  readonly command: Document;
}

/** Every command that the client sends while `work` runs; the client must have been made with `monitorCommands`. */
export async function commandsOf(client: MongoClient, work: () => Promise<unknown>): Promise<readonly SentCommand[]> {
  const sent: SentCommand[] = [];
  const note = ({ commandName, command }: CommandStartedEvent) => {
    if (UPKEEP.has(commandName)) return;
    const rest = Object.fromEntries(Object.entries(command as Document).filter(([key]) => !ADDED.includes(key)));
    sent.push({ name: commandName, command: rest });
  };
  client.on("commandStarted", note);
  try {
    await work();
  } finally {
    client.off("commandStarted", note);
  }
  return sent;
}
