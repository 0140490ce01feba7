import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { newTicketSecret, readTicketSecrets } from "../server/auth/ticket-secrets.js";
import { changeFile } from "./change-file.js";
import { print } from "./print.js";

/** Prints a new secret, or puts it in front of the secret that the file has. */
export async function addTicketSecret(path: string | undefined): Promise<void> {
  const secret = newTicketSecret();
  if (path === undefined) return print(secret);
  await changeFile(path, async () => {
    const before = existsSync(path) ? await readSecrets(path) : [];
    if (before.length > 1)
      throw new Error(`Ticket secret file ${path} has two secrets already; remove the older one with --drop-old`);
    return linesOf([secret, ...before]);
  });
}

/** Removes the older of the two secrets that the file has. */
export async function dropOldTicketSecret(path: string | undefined): Promise<void> {
  if (path === undefined) throw new Error("--drop-old needs --file");
  await readSecrets(path);
  await changeFile(path, async () => {
    const [first, ...older] = await readSecrets(path);
    if (older.length === 0) throw new Error(`Ticket secret file ${path} has only one secret`);
    return linesOf([first!]);
  });
}

async function readSecrets(path: string): Promise<readonly string[]> {
  return readTicketSecrets(await readFile(path, "utf8"), `Ticket secret file ${path}`);
}

function linesOf(secrets: readonly string[]): string {
  return secrets.map((secret) => `${secret}\n`).join("");
}
