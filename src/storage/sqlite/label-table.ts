import { labelTexts } from "../../domain/labels.js";
import type { NextRecord, RecordFilter, RecordPage, SessionRecord } from "../history/log-store.js";
import { toColumn } from "../text-column.js";
import { pageOf } from "./record-pages.js";
import type { Statements } from "./statements.js";

type Labeled = Pick<NextRecord, "uid" | "sessionId" | "owner" | "updateTimeMicros" | "labels" | "deleted">;

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
    const owner = toColumn(record.owner ?? "");
    const place = [this.#namespace, owner, record.updateTimeMicros, toColumn(record.sessionId)] as const;
    for (const label of labelTexts(record.labels)) this.#sql.insertLabel.run(uid, toColumn(label), ...place);
  }

  /** Updates the rows after the update time of a session has changed. */
  touch(uid: string, updateTimeMicros: number): void {
    this.#sql.touchLabels.run(updateTimeMicros, toColumn(uid));
  }

  records(label: string, owner: RecordFilter["owner"], page: RecordPage): SessionRecord[] {
    const { labeled, labeledAfter, ownedLabeled, ownedLabeledAfter } = this.#sql;
    const [first, later] = owner === undefined ? [labeled, labeledAfter] : [ownedLabeled, ownedLabeledAfter];
    return pageOf(first, later, this.#scope(label, owner), page);
  }

  #scope(label: string, owner: RecordFilter["owner"]): readonly string[] {
    return [this.#namespace, toColumn(label), ...(owner === undefined ? [] : [toColumn(owner)])];
  }
}
