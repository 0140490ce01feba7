import { labelTexts } from "../../domain/labels.js";
import type { NextRecord, RecordPage } from "../history/log-store.js";
import type { Row, Statements } from "./statements.js";
import { fromColumn, toColumn } from "./text-column.js";

type Labeled = Pick<NextRecord, "uid" | "sessionId" | "updateTimeMicros" | "labels" | "deleted">;

/** A session that has a label, at its place in lists. */
export interface LabelPlace {
  readonly uid: string;
  readonly updateTimeMicros: number;
  readonly sessionId: string;
}

/** The labels of one namespace. The table says again what living records say, in the order of lists. */
export class LabelTable {
  readonly #sql: Statements;
  /** As a column. */
  readonly #namespace: string;

  constructor(statements: Statements, namespace: string) {
    this.#sql = statements;
    this.#namespace = namespace;
  }

  /** A record was written, in the place of the one that was there before. */
  put(record: Labeled, before?: Labeled): void {
    const uid = toColumn(record.uid);
    if (before?.labels !== undefined && !before.deleted) this.#sql.deleteLabels.run(uid);
    if (record.labels === undefined || record.deleted) return;
    const place = [this.#namespace, record.updateTimeMicros, toColumn(record.sessionId)] as const;
    for (const label of labelTexts(record.labels)) this.#sql.insertLabel.run(uid, toColumn(label), ...place);
  }

  /** The session's place has moved. */
  touch(uid: string, updateTimeMicros: number): void {
    this.#sql.touchLabels.run(updateTimeMicros, toColumn(uid));
  }

  /** Rows of the records of a page. */
  records(label: string, { limit, after }: RecordPage): Row[] {
    const scope = [this.#namespace, toColumn(label)] as const;
    if (after === undefined) return this.#sql.labeled.all(...scope, limit);
    return this.#sql.labeledAfter.all(...scope, after.updateTimeMicros, toColumn(after.sessionId), limit);
  }

  /** The places of a page. */
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
