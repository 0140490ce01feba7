import type { Command } from "commander";
import { parseScope, parseText } from "../../config/flags.js";
import { audited, commands } from "./loaders.js";
import { withAudit } from "./options.js";

const TICKET_SECRET_HELP = `
To change the secret without ending tickets:
  1. keys ticket-secret --file F             the new secret signs, and the old one still verifies
  2. wait until the tickets of before have ended, at most 30 days
  3. keys ticket-secret --file F --drop-old`;

/** The commands below `keys`. */
export function addKeyCommands(keys: Command): void {
  withAudit(keys.command("add <name>"))
    .description("make a key, add its hash to the keys file, and print the key")
    .requiredOption("--keys-file <file>", "file to add it to")
    .option("--namespace <name>", "namespace that the key opens", "default")
    .option("--scope <scope>", "read, write or admin", parseScope, "write")
    .option("--owner <name>", "owner whose sessions alone the key opens; not with the scope admin", parseText)
    .action(async (name: string, { auditLog, keysFile, namespace, scope, owner }) =>
      audited({ auditLog, namespace }, "keys add", { key: name, scope, owner }, async () =>
        (await commands.keys()).addKey(keysFile, { name, namespace, scope, owner }),
      ),
    );
  keys
    .command("list")
    .description("print the name, scope, namespace and owner of each key, in the order of the file")
    .requiredOption("--keys-file <file>", "file to read")
    .option("--json", "print JSON, one object a line", false)
    .action(async ({ keysFile, json }) => (await commands.keys()).listKeys(keysFile, { json }));
  withAudit(keys.command("remove <name>"))
    .description("remove a key from the keys file; a server that reads it ends what runs under the key")
    .requiredOption("--keys-file <file>", "file to remove it from")
    .action(async (name: string, { auditLog, keysFile }) =>
      audited({ auditLog }, "keys remove", { key: name }, async () =>
        (await commands.keys()).removeKey(keysFile, name),
      ),
    );
  keys
    .command("hash")
    .description("print the hash of a key of your own, read from standard input")
    .action(async () => (await commands.keys()).hashKey());
  withAudit(keys.command("ticket-secret"))
    .description(
      "make a secret that signs tickets, for --ticket-secret-file of serve, and print it or add it to a file",
    )
    .option("--file <file>", "file to make, or to put the new secret into, in front of the one that it has")
    .option("--drop-old", "remove the older secret of the file instead, and end the tickets that it signed", false)
    .addHelpText("after", TICKET_SECRET_HELP)
    .action(async ({ auditLog, file, dropOld }) => {
      const { addTicketSecret, dropOldTicketSecret } = await commands.ticketSecret();
      await audited({ auditLog }, "keys ticket-secret", { dropOld: dropOld || undefined }, () =>
        dropOld ? dropOldTicketSecret(file) : addTicketSecret(file),
      );
    });
}
