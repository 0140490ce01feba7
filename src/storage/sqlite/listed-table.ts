import { titleKey, titleWords } from "../../domain/session-order.js";
import type { NextRecord } from "../history/log-store.js";
import { toColumn } from "../text-column.js";
import type { Bound, Statements } from "./statements.js";

type Listed = Pick<NextRecord, "uid" | "sessionId" | "owner" | "createTimeMicros" | "title" | "deleted">;

/**
 * The living sessions of one namespace by their titles, the words of these, and when they were created. An append
 * changes nothing of it.
 */
export class ListedTable {
  readonly #sql: Statements;
  /** As a column holds it. */
  readonly #namespace: string;

  constructor(statements: Statements, namespace: string) {
    this.#sql = statements;
    this.#namespace = namespace;
  }

  /** Updates the rows after a record was written; `before` is the record that it replaced. */
  put(record: Listed, before?: Listed): void {
    if (before !== undefined && !before.deleted) {
      if (isSame(record, before)) return;
      this.#delete(toColumn(record.uid));
    }
    if (!record.deleted) this.#insert(record);
  }

  #insert(record: Listed): void {
    const words = titleWords(record.title);
    this.#sql.insertListed.run(...listedRow(this.#namespace, record, words));
    for (const word of words) this.#sql.insertWord.run(this.#namespace, word, toColumn(record.uid));
  }

  /** Deletes the words that were stored, because another version of this program may find other words in a title. */
  #delete(uid: string): void {
    const [words] = this.#sql.listedWords.get(uid) ?? [];
    for (const word of JSON.parse((words as string | undefined) ?? "[]") as string[]) {
      this.#sql.deleteWord.run(this.#namespace, word, uid);
    }
    this.#sql.deleteListed.run(uid);
  }
}

/** The values of `insertListed`; the namespace is given as a column holds it. */
export function listedRow(namespace: string, record: Listed, words: readonly string[]): Bound[] {
  return [
    toColumn(record.uid),
    namespace,
    toColumn(record.owner ?? ""),
    record.createTimeMicros,
    titleKey(record.title),
    toColumn(record.sessionId),
    JSON.stringify(words),
  ];
}

function isSame(record: Listed, before: Listed): boolean {
  return (
    !record.deleted &&
    record.title === before.title &&
    record.owner === before.owner &&
    record.createTimeMicros === before.createTimeMicros &&
    record.sessionId === before.sessionId
  );
}
