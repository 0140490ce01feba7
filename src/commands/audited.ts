import { userInfo } from "node:os";
import { codeName } from "../api/api-error.js";
import { toApiError } from "../api/error-mapping.js";
import { type AuditFields, AuditLog } from "../server/audit-log.js";

/** The flag of commands that write to the audit log. */
export interface AuditFlags {
  readonly auditLog?: string | undefined;
  readonly namespace?: string | undefined;
}

/**
 * Runs a command, and writes to the audit log that it began, by which user of this machine and what it is about, and
 * how it ended. Rejects before the command begins when that is impossible.
 */
export async function audited<T>(
  flags: AuditFlags,
  action: string,
  about: AuditFields,
  run: (audit: CommandAudit) => Promise<T>,
): Promise<T> {
  const audit = new CommandAudit(flags, action);
  audit.write({ phase: "started", ...about });
  try {
    const result = await run(audit);
    audit.write({ phase: "ended", ...about, ...audit.summary, result: "ok" });
    return result;
  } catch (error) {
    audit.write({ phase: "ended", ...about, ...audit.summary, result: codeOf(error) });
    throw error;
  }
}

/** The audit log as a command writes it. Opens the file for each line, so that it may be moved away at any time. */
export class CommandAudit {
  /** What the line about the end says besides: how many sessions it was, for example. */
  summary: AuditFields = {};
  readonly #path: string | undefined;
  readonly #fields: AuditFields;
  #isWarned = false;

  constructor({ auditLog, namespace }: AuditFlags, action: string) {
    this.#path = auditLog;
    this.#fields = { by: "command", name: nameOfUser(), action, namespace };
  }

  /** Throws an Error when the line cannot be written. Does nothing without a file. */
  write(fields: AuditFields): void {
    if (this.#path === undefined) return;
    const warn = (text: unknown) => {
      if (!this.#isWarned) process.stderr.write(`session-pool: ${String(text)}\n`);
      this.#isWarned = true;
    };
    const log = new AuditLog(this.#path, { logger: { warn, error: () => undefined } });
    try {
      log.write({ ...this.#fields, ...fields });
      if (log.isFailing) throw new Error(`Audit log ${this.#path} cannot be written`);
    } finally {
      log.close();
    }
  }

  /** Writes how a step of the command ended, such as the change of one session. Rejects as the step does. */
  async step<T>(about: AuditFields, step: Promise<T>): Promise<T> {
    const result = await step.catch((error: unknown) => {
      this.write({ ...about, result: codeOf(error) });
      throw error;
    });
    this.write({ ...about, result: "ok" });
    return result;
  }
}

/** What a command failed with. Only errors of the service have codes of their own. */
function codeOf(error: unknown): string {
  const { code } = toApiError(error);
  return codeName(code);
}

/** Falls back to the number of a user that this machine does not know, as in containers. */
function nameOfUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? "unknown"}`;
  }
}
