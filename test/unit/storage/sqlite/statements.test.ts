import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openFile } from "../../../../src/storage/sqlite/open-file.js";
import { SQL } from "../../../../src/storage/sqlite/statements.js";

/** How SQLite must find the rows of each statement. Empty for an insert, which looks for none. */
const PLANS: { readonly [name in keyof typeof SQL]: string | readonly string[] } = {
  tail: ["messages USING PRIMARY KEY (log=?)", "sessions USING PRIMARY KEY (uid=?)"],
  lastPlace: "messages USING PRIMARY KEY (log=?)",
  openEnd: ["sessions USING PRIMARY KEY (uid=?)", "messages USING PRIMARY KEY (log=?)"],
  insertEntry: "",
  deleteRange: "messages USING PRIMARY KEY (log=? AND seq>? AND seq<?)",
  sizesUp: "messages USING PRIMARY KEY (log=? AND seq>? AND seq<?)",
  sizesDown: "messages USING PRIMARY KEY (log=? AND seq>? AND seq<?)",
  readPage: "messages USING PRIMARY KEY (log=? AND seq>? AND seq<?)",
  readNewest: [
    "sessions USING INDEX sessions_by_id (namespace=? AND session_id=?)",
    "messages USING PRIMARY KEY (log=? AND seq>?) LEFT-JOIN",
    "ends USING PRIMARY KEY (log=?)",
  ],
  timeAt: "messages USING PRIMARY KEY (log=? AND seq=?)",
  findOne: "messages USING INDEX messages_by_id (log=? AND id=?)",
  findMany: "messages USING INDEX messages_by_id (log=? AND id=?)",
  logAfter: "messages USING COVERING INDEX messages_by_id (log>? AND log<?)",
  usageRows: "messages USING COVERING INDEX messages_by_usage (log=? AND seq>? AND seq<?)",
  firstUsage: "messages USING COVERING INDEX messages_by_usage (log=? AND seq>? AND seq<?)",
  lastUsage: "messages USING COVERING INDEX messages_by_usage (log=? AND seq>? AND seq<?)",
  updateBody: "messages USING COVERING INDEX messages_by_id (log=? AND id=?)",
  placesOfRange: "messages USING PRIMARY KEY (log=? AND seq>? AND seq<?)",
  placesOfOwner: "messages USING PRIMARY KEY (log>? AND log<?)",
  entriesOfOwner: "messages USING PRIMARY KEY ((log,seq)>(?,?) AND log<?)",
  nextLog: "messages USING COVERING INDEX messages_by_id (log>?)",
  insertRecord: "",
  logsOfRecord: "sessions USING PRIMARY KEY (uid=?)",
  ownerExists: "sessions USING PRIMARY KEY (uid=?)",
  recordByUid: "sessions USING PRIMARY KEY (uid=?)",
  recordById: "sessions USING INDEX sessions_by_id (namespace=? AND session_id=?)",
  updateRecord: "sessions USING PRIMARY KEY (uid=?)",
  addFork: "sessions USING PRIMARY KEY (uid=?)",
  touch: "sessions USING PRIMARY KEY (uid=?)",
  newest: "sessions USING INDEX sessions_by_time (namespace=?)",
  newestAfter: "sessions USING INDEX sessions_by_time (namespace=? AND (update_time,session_id)<(?,?))",
  children: "sessions USING INDEX sessions_by_parent (namespace=? AND parent_id=?)",
  childrenAfter:
    "sessions USING INDEX sessions_by_parent (namespace=? AND parent_id=? AND (update_time,session_id)<(?,?))",
  owned: "sessions USING INDEX sessions_by_owner (namespace=? AND owner=?)",
  ownedAfter: "sessions USING INDEX sessions_by_owner (namespace=? AND owner=? AND (update_time,session_id)<(?,?))",
  ownedLabeled: [
    "labels USING COVERING INDEX labels_by_owner (namespace=? AND owner=? AND label=?)",
    "sessions USING PRIMARY KEY (uid=?)",
  ],
  ownedLabeledAfter: [
    "labels USING COVERING INDEX labels_by_owner (namespace=? AND owner=? AND label=? AND (update_time,session_id)<(?,?))",
    "sessions USING PRIMARY KEY (uid=?)",
  ],
  bodyBytes: "messages USING PRIMARY KEY (log=? AND seq>? AND seq<?)",
  usage: [
    "sessions USING COVERING INDEX sessions_by_bytes (namespace=?)",
    "sessions USING COVERING INDEX sessions_by_time (namespace=?)",
  ],
  usageOfOwner: [
    "sessions USING COVERING INDEX sessions_by_bytes (namespace=? AND owner=? AND bytes>?)",
    "sessions USING COVERING INDEX sessions_by_owner (namespace=? AND owner=?)",
  ],
  usageOfKey: "sessions USING COVERING INDEX sessions_by_key (namespace=? AND creator_key=?)",
  addBytes: "sessions USING PRIMARY KEY (uid=?)",
  setBytes: "sessions USING PRIMARY KEY (uid=?)",
  labeled: [
    "labels USING COVERING INDEX labels_by_time (namespace=? AND label=?)",
    "sessions USING PRIMARY KEY (uid=?)",
  ],
  labeledAfter: [
    "labels USING COVERING INDEX labels_by_time (namespace=? AND label=? AND (update_time,session_id)<(?,?))",
    "sessions USING PRIMARY KEY (uid=?)",
  ],
  insertLabel: "",
  deleteLabels: "labels USING PRIMARY KEY (uid=?)",
  touchLabels: "labels USING PRIMARY KEY (uid=?)",
  insertListed: "",
  listedWords: "listed USING PRIMARY KEY (uid=?)",
  deleteListed: "listed USING PRIMARY KEY (uid=?)",
  insertWord: "",
  deleteWord: "title_words USING PRIMARY KEY (namespace=? AND word=? AND uid=?)",
  toSweep: "sessions USING INDEX sessions_to_sweep (namespace=? AND sweep_at>? AND sweep_at<?)",
  binned: "sessions USING INDEX sessions_in_bin (namespace=? AND delete_time>?)",
  binnedAfter:
    "sessions USING INDEX sessions_in_bin (namespace=? AND delete_time>? AND (delete_time,session_id)<(?,?))",
  ownedBinned: "sessions USING INDEX sessions_in_bin_by_owner (namespace=? AND owner=? AND delete_time>?)",
  ownedBinnedAfter:
    "sessions USING INDEX sessions_in_bin_by_owner (namespace=? AND owner=? AND delete_time>? AND (delete_time,session_id)<(?,?))",
  binnedById: "sessions USING INDEX sessions_in_bin_by_id (namespace=? AND session_id=? AND delete_time>?)",
  binnedByIdAfter:
    "sessions USING INDEX sessions_in_bin_by_id (namespace=? AND session_id=? AND delete_time>? AND delete_time<?)",
  toPurge: "sessions USING INDEX sessions_to_purge (namespace=? AND purge_time>? AND purge_time<?)",
  drafting: "sessions USING INDEX sessions_drafting (namespace=? AND uid>?)",
  toExpire: "sessions USING INDEX sessions_to_expire (namespace=? AND expire_time>? AND expire_time<?)",
  unchanged: "sessions USING INDEX sessions_by_time (namespace=? AND update_time<?)",
  deleteTombstone: "sessions USING PRIMARY KEY (uid=?)",
  scan: "sessions USING INDEX sessions_by_uid (namespace=? AND uid>?)",
  nextNamespace: "sessions USING COVERING INDEX sessions_by_uid (namespace>?)",
  firstNamespace: "sessions USING COVERING INDEX sessions_by_uid (namespace>?)",
  sessionAhead: "sessions USING COVERING INDEX sessions_by_id ((namespace,session_id)>(?,?))",
  sessionsAfter: "sessions USING COVERING INDEX sessions_by_id ((namespace,session_id)>(?,?))",
  draftsAfter: "sessions USING INDEX sessions_drafting (namespace=? AND uid>?)",
  oldestMark: "sessions USING INDEX sessions_to_sweep (namespace=? AND sweep_at>?)",
  firstExpiry: "sessions USING COVERING INDEX sessions_to_expire (namespace=? AND expire_time>?)",
  readTodos: "todos USING PRIMARY KEY (namespace=?)",
  insertTodos: "",
  updateTodos: "todos USING PRIMARY KEY (namespace=?)",
  nextTodos: "todos USING PRIMARY KEY (namespace>?)",
  firstTodos: "todos USING PRIMARY KEY (namespace>?)",
  nextDeparted: "departures USING COVERING INDEX departures_by_time (namespace>?)",
  firstDeparted: "departures USING COVERING INDEX departures_by_time (namespace>?)",
  readRegister: "registers USING PRIMARY KEY (name=?)",
  insertRegister: "",
  updateRegister: "registers USING PRIMARY KEY (name=?)",
  insertAttachment: "",
  attachmentOfLog: "attachments USING PRIMARY KEY (log=?)",
  attachmentById: "attachments USING INDEX attachments_by_id (namespace=? AND uid=? AND id=?)",
  attachmentsOfOwner: "attachments USING PRIMARY KEY (log>? AND log<?)",
  attachmentsSeen: "attachments USING INDEX attachments_by_time (namespace=? AND state=? AND seen<?)",
  attachmentUsage: "attachments USING PRIMARY KEY (log>? AND log<?)",
  completeAttachment: "attachments USING PRIMARY KEY (log=?)",
  changeAttachment: "attachments USING PRIMARY KEY (log=?)",
  deleteAttachment: "attachments USING PRIMARY KEY (log=?)",
  deleteAttachmentsOfOwner: "attachments USING PRIMARY KEY (log>? AND log<?)",
  attachmentLogsOfOwner: "attachments USING PRIMARY KEY (log>? AND log<?)",
  nextAttachment: "attachments USING PRIMARY KEY (log>?)",
  insertPiece: "",
  readPieces: "attachment_pieces USING PRIMARY KEY (log=? AND seq>?)",
  lastPiece: "attachment_pieces USING PRIMARY KEY (log=?)",
  pieceBytes: "attachment_pieces USING PRIMARY KEY (log=? AND seq>? AND seq<?)",
  piecesOfRange: "attachment_pieces USING PRIMARY KEY (log=? AND seq>? AND seq<?)",
  piecesOfOwner: "attachment_pieces USING PRIMARY KEY (log>? AND log<?)",
  deletePieces: "attachment_pieces USING PRIMARY KEY (log=? AND seq>? AND seq<?)",
  nextPieces: "attachment_pieces USING PRIMARY KEY (log>?)",
  insertNaming: "",
  deleteNamings: "attachment_names USING PRIMARY KEY (log=? AND seq>? AND seq<?)",
  namings: "attachment_names USING COVERING INDEX attachment_names_by_target (target=? AND (log,seq)>(?,?))",
  findNamings: "attachment_names USING COVERING INDEX attachment_names_by_id (log=? AND id=?)",
  listNamings: "attachment_names USING COVERING INDEX attachment_names_by_id (log=? AND id>?)",
  feedId: "feed USING INTEGER PRIMARY KEY (rowid=?)",
  lastChanged: "sessions USING COVERING INDEX sessions_by_place (namespace=? AND place>?)",
  lastDeparted: "departures USING PRIMARY KEY (namespace=?)",
  feedFirst: "feed_starts USING PRIMARY KEY (namespace=?)",
  raiseFeedFirst: "",
  placeRecord: "sessions USING PRIMARY KEY (uid=?)",
  insertDeparture: "",
  changedAfter: "sessions USING INDEX sessions_by_place (namespace=? AND place>?)",
  changedSince: "sessions USING INDEX sessions_by_time (namespace=? AND update_time>?)",
  departedAfter: "departures USING PRIMARY KEY (namespace=? AND place>?)",
  departedBefore: "departures USING COVERING INDEX departures_by_time (namespace=? AND at<?)",
  deleteDeparture: "departures USING PRIMARY KEY (namespace=? AND place=?)",
  namingsAfter: "attachment_names USING PRIMARY KEY ((log,seq,id)>(?,?,?) AND (log,seq)<(?,?))",
};

/** Steps that read no table: subqueries, and what is given as JSON. */
const OF_NO_TABLE = /SUBQUERY|CO-ROUTINE|SCAN \(subquery-|VIRTUAL TABLE/;

describe("statements", () => {
  let db: Awaited<ReturnType<typeof openFile>>;

  beforeAll(async () => {
    db = await openFile(":memory:");
  });
  afterAll(() => {
    db.close();
  });

  it.each(Object.entries(SQL))("%s uses the right index and sorts nothing", (name, sql) => {
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all([]) as { detail: string }[];
    const wanted = [PLANS[name as keyof typeof SQL]].flat().filter((one) => one !== "");
    const steps = plan.map(({ detail }) => detail).filter((detail) => !OF_NO_TABLE.test(detail));
    expect(steps).toEqual(wanted.map((one) => `SEARCH ${one}`));
  });

  it("keep their plans when the tables hold rows and statistics", () => {
    const fill = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
			INSERT INTO messages SELECT 'u.' || (i % 3), i, 'm' || i, i, 'user', 's', NULL, 1, '{}', NULL, NULL FROM n`;
    db.exec(`${fill}; ANALYZE`);
    for (const name of ["findOne", "findMany", "lastPlace", "readPage", "placesOfOwner"] as const) {
      const plan = db.prepare(`EXPLAIN QUERY PLAN ${SQL[name]}`).all([]) as { detail: string }[];
      expect(plan.map(({ detail }) => detail)).toEqual([`SEARCH ${PLANS[name]}`]);
    }
  });
});
