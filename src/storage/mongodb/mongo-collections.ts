import type { Collection, Db, Long, ObjectId } from "mongodb";
import type { SearchScope } from "../../domain/search.js";
import type { Todo } from "../../domain/todo.js";
import type { AttachmentDocument, PieceDocument } from "./attachment-document.js";
import type { LogDocument } from "./entry-document.js";
import type { RecordDocument } from "./record-document.js";
import type { DepartureDocument } from "./record-feed.js";

export interface TodosDocument {
  /** The namespace. */
  readonly _id: string;
  readonly revision: number;
  readonly todos: readonly Todo[];
  /** Distinguishes a repeated write from another writer's. */
  readonly write: ObjectId;
}

export interface RegisterDocument {
  /** The name. */
  readonly _id: string;
  readonly revision: number;
  readonly text: string;
}

/** What is no longer said by the record of a session that was deleted or changed; see DepartureDocument. */
export interface DepartureRow extends DepartureDocument {
  /** The uid and the place. */
  readonly _id: string;
  readonly namespace: string;
  readonly uid: string;
  readonly session_id: string;
}

/** The feed of a namespace. */
export interface FeedDocument {
  /** The namespace. */
  readonly _id: string;
  /** The last place whose row was removed. */
  readonly first: Long | number;
}

export interface SchemaDocument {
  readonly _id: "version" | "clock" | "search" | "feed";
  /** Only in the document `version`. */
  readonly version?: number;
  /** Only in the document `clock`, which sweeps write to learn the server's time. */
  readonly ticks?: number;
  /** Only in the document `search`: what of messages is in the index of words. Without it, their texts are. */
  readonly indexed?: SearchScope;
  /** Only in the document `feed`: distinguishes the feeds of this database from those of others. */
  readonly feed_id?: string;
}

export interface MongoCollections {
  readonly sessions: Collection<RecordDocument>;
  readonly messages: Collection<LogDocument>;
  readonly attachments: Collection<AttachmentDocument>;
  readonly pieces: Collection<PieceDocument>;
  readonly departures: Collection<DepartureRow>;
  readonly feeds: Collection<FeedDocument>;
  readonly todos: Collection<TodosDocument>;
  readonly registers: Collection<RegisterDocument>;
  readonly schema: Collection<SchemaDocument>;
}

export function collectionsOf(db: Db): MongoCollections {
  return {
    sessions: db.collection("sessions"),
    messages: db.collection("messages"),
    attachments: db.collection("attachments"),
    pieces: db.collection("attachment_pieces"),
    departures: db.collection("departures"),
    feeds: db.collection("feeds"),
    todos: db.collection("todos"),
    registers: db.collection("registers"),
    schema: db.collection("schema"),
  };
}
