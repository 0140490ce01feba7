import type { Option } from "commander";
import { type Flags, flag, parseText } from "./flags.js";

/** Where the feed of sessions is sent, and what signs it. */
export interface WebhookConfig {
  /** May hold credentials. */
  readonly url: string;
  readonly secretFile: string;
}

export function webhookFlags(): Option[] {
  return [
    flag("--webhook <url>", "where the changes of sessions are posted").argParser(parseText),
    flag("--webhook-secret-file <file>", "secrets that sign what is posted to --webhook, one on each line").argParser(
      parseText,
    ),
  ];
}

/** Throws an Error with a one-line message, which does not show the URL, when the flags are no webhook. */
export function readWebhook({ webhook, webhookSecretFile }: Flags): WebhookConfig | undefined {
  if (webhook === undefined && webhookSecretFile === undefined) return undefined;
  if (webhook === undefined || webhookSecretFile === undefined)
    throw new Error("--webhook and --webhook-secret-file must be given together");
  if (!isReceiver(webhook as string)) throw new Error("--webhook must be one http or https URL without a fragment");
  return { url: webhook as string, secretFile: webhookSecretFile as string };
}

function isReceiver(text: string): boolean {
  try {
    const { protocol, username, password, hash } = new URL(text);
    decodeURIComponent(username + password);
    return /^https?:$/.test(protocol) && hash === "";
  } catch {
    return false;
  }
}
