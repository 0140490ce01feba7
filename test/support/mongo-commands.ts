import type { CommandStartedEvent, Document, MongoClient } from "mongodb";

/** Fields that the driver adds to a command and that `explain` refuses. */
const ADDED = ["lsid", "$db", "$clusterTime", "readConcern", "writeConcern", "maxTimeMS", "apiVersion"];
/** Commands that the driver sends by itself. */
const UPKEEP: ReadonlySet<string> = new Set(["endSessions", "hello", "ismaster", "isMaster", "killCursors"]);

export interface SentCommand {
  /** The name of the command, such as `find` or `insert`. */
  readonly name: string;
  readonly command: Document;
}

/**
 * Resolves to every command that the client sends while `work` runs. The client must have been made with
 * `monitorCommands`.
 */
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
