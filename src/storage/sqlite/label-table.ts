import { labelTexts } from "../../domain/labels.js";
import type { NextRecord, RecordPage } from "../history/log-store.js";
import { fromColumn, toColumn } from "../text-column.js";
import type { Row, Statements } from "./statements.js";

type Labeled = Pick<NextRecord, "uid" | "sessionId" | "updateTimeMicros" | "labels" | "deleted">;

/** A session that has a label, with its place in lists. */
export interface LabelPlace {
  readonly uid: string;
  readonly updateTimeMicros: number;
  readonly sessionId: string;
}

/** The labels of one namespace. The table repeats the labels of living records, in the order of lists. */
export class LabelTable {
  readonly #sql: Statements;
  /** The namespace as a column value. */
  readonly #namespace: string;

  constructor(statements: Statements, namespace: string) {
    this.#sql = statements;
    this.#namespace = namespace;
  }

  /** Updates the rows after a record was written; `before` is the record that it replaced. */
  put(record: Labeled, before?: Labeled): void {
    const uid = toColumn(record.uid);
    if (before?.labels !== undefined && !before.deleted) this.#sql.deleteLabels.run(uid);
    if (record.labels === undefined || record.deleted) return;
    const place = [this.#namespace, record.updateTimeMicros, toColumn(record.sessionId)] as const;
    for (const label of labelTexts(record.labels)) this.#sql.insertLabel.run(uid, toColumn(label), ...place);
  }

  /** Updates the rows after the update time of a session has changed. */
  touch(uid: string, updateTimeMicros: number): void {
    this.#sql.touchLabels.run(updateTimeMicros, toColumn(uid));
  }

  /** The rows of the records of a page. */
  records(label: string, { limit, after }: RecordPage): Row[] {
    const scope = [this.#namespace, toColumn(label)] as const;
    if (after === undefined) return this.#sql.labeled.all(...scope, limit);
    return this.#sql.labeledAfter.all(...scope, after.updateTimeMicros, toColumn(after.sessionId), limit);
  }

  /** The places of the sessions of a page. */
  places(label: string, { limit, after }: RecordPage): LabelPlace[] {
    const scope = [this.#namespace, toColumn(label)] as const;
    const rows =
      after === undefined
        ? this.#sql.labelPlaces.all(...scope, limit)
        : this.#sql.labelPlacesAfter.all(...scope, after.updateTimeMicros, toColumn(after.sessionId), limit);
    return rows.map((row) => {
      const [uid, updateTimeMicros, sessionId] = row as [string, number, string];
      return { uid: fromColumn(uid), updateTimeMicros, sessionId: fromColumn(sessionId) };
    });
  }

  has(uid: string, label: string): boolean {
    return this.#sql.hasLabel.get(toColumn(uid), toColumn(label)) !== undefined;
  }
}
