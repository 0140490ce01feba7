/** How many ids one look-up takes. */
export const IDS_AT_ONCE = 50;

const ROW = "log, id, state, media_type, name, size, sha256, create_time, seen, pieces";
const NAMING = "log, seq, id, target";

/**
 * The statements on attachments, their pieces, and what names them. The sign before `namespace` keeps the planner from
 * reading all attachments of the namespace by the index that begins with it.
 */
export const ATTACHMENT_SQL = {
  insertAttachment: `INSERT INTO attachments (namespace, uid, ${ROW}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  attachmentOfLog: `SELECT ${ROW} FROM attachments WHERE log = ? AND namespace = ?`,
  attachmentById: `SELECT ${ROW} FROM attachments WHERE namespace = ? AND uid = ? AND id = ? AND state = 'stored'`,
  attachmentsOfOwner: `SELECT ${ROW} FROM attachments WHERE log > ? AND log < ? AND +namespace = ? ORDER BY log LIMIT ?`,
  attachmentsSeen: `SELECT ${ROW} FROM attachments WHERE namespace = ? AND state = ? AND seen <= ? ORDER BY seen LIMIT ?`,
  attachmentUsage: `SELECT coalesce(sum(size), 0), count(iif(state = 'arriving', 1, NULL)) FROM attachments
    WHERE log > ? AND log < ? AND +namespace = ?`,
  completeAttachment:
    "UPDATE attachments SET state = 'stored', size = ?, sha256 = ?, create_time = ?, seen = ? WHERE log = ?",
  /** A state or a count that is null stays as it is. */
  changeAttachment: `UPDATE attachments SET seen = ?, state = coalesce(?, state), pieces = coalesce(?, pieces)
    WHERE log = ? AND namespace = ?`,
  deleteAttachment: "DELETE FROM attachments WHERE log = ? AND namespace = ?",
  deleteAttachmentsOfOwner: "DELETE FROM attachments WHERE log > ? AND log <= ?",
  attachmentLogsOfOwner: "SELECT log FROM attachments WHERE log > ? AND log < ? ORDER BY log LIMIT ?",
  nextAttachment: "SELECT log FROM attachments WHERE log >= ? ORDER BY log LIMIT 1",

  insertPiece: "INSERT INTO attachment_pieces (log, seq, bytes) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
  readPieces: "SELECT seq, bytes FROM attachment_pieces WHERE log = ? AND seq >= ? ORDER BY seq LIMIT ?",
  lastPiece: "SELECT seq FROM attachment_pieces WHERE log = ? ORDER BY seq DESC LIMIT 1",
  /** Reads no piece: SQLite knows the length of each. */
  pieceBytes: "SELECT coalesce(sum(length(bytes)), 0) FROM attachment_pieces WHERE log = ? AND seq BETWEEN ? AND ?",
  piecesOfRange:
    "SELECT log, seq, length(bytes) FROM attachment_pieces WHERE log = ? AND seq BETWEEN ? AND ? ORDER BY seq LIMIT ?",
  piecesOfOwner:
    "SELECT log, seq, length(bytes) FROM attachment_pieces WHERE log > ? AND log < ? ORDER BY log, seq LIMIT ?",
  deletePieces: "DELETE FROM attachment_pieces WHERE log = ? AND seq BETWEEN ? AND ?",
  nextPieces: "SELECT log FROM attachment_pieces WHERE log >= ? ORDER BY log LIMIT 1",

  insertNaming: `INSERT INTO attachment_names (${NAMING}) VALUES (?, ?, ?, ?)`,
  deleteNamings: "DELETE FROM attachment_names WHERE log = ? AND seq BETWEEN ? AND ?",
  namings: `SELECT ${NAMING} FROM attachment_names WHERE target = ? AND (log, seq) > (?, ?) ORDER BY log, seq LIMIT ?`,
  findNamings: `SELECT ${NAMING} FROM attachment_names INDEXED BY attachment_names_by_id
    WHERE log = ? AND id IN (${Array(IDS_AT_ONCE).fill("?").join()})`,
  listNamings: `SELECT ${NAMING} FROM attachment_names INDEXED BY attachment_names_by_id
    WHERE log = ? AND id > ? ORDER BY id LIMIT ?`,
  namingsAfter: `SELECT ${NAMING} FROM attachment_names WHERE (log, seq, id) > (?, ?, ?) AND (log, seq) <= (?, ?)
    ORDER BY log, seq, id LIMIT ?`,
} as const;
