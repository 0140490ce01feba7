import { ANNOTATION_ROWS } from "./annotation-rows.js";
import { ATTACHMENT_ROWS } from "./attachment-rows.js";
import { DRAFT_ROWS } from "./draft-rows.js";
import { MESSAGE_EDIT_ROWS } from "./message-edit-rows.js";
import { MESSAGE_ROWS } from "./message-rows.js";
import type { Row } from "./row.js";
import { SEARCH_ROWS } from "./search-rows.js";
import { SESSION_ROWS } from "./session-rows.js";
import { TODO_ROWS } from "./todo-rows.js";
import { USAGE_ROWS } from "./usage-rows.js";

/** The interop table: for every RPC, calls that succeed and each error that is its own. */
export const ROWS: readonly Row[] = [
  ...SESSION_ROWS,
  ...MESSAGE_ROWS,
  ...MESSAGE_EDIT_ROWS,
  ...SEARCH_ROWS,
  ...DRAFT_ROWS,
  ...ANNOTATION_ROWS,
  ...USAGE_ROWS,
  ...ATTACHMENT_ROWS,
  ...TODO_ROWS,
];
