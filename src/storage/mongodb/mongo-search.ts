import type { Collection, Document } from "mongodb";
import type { Call } from "../../domain/call.js";
import { MessageBody } from "../../domain/message-body.js";
import { holdsTerms } from "../../domain/search-text.js";
import { mayLackTerms } from "../history/indexed-words.js";
import type { EntrySearch, FoundEntries, LogStore, SearchedPage } from "../history/log-store.js";
import { readSearchPlace, writeSearchPlace } from "../history/search-place.js";
import { searchedText } from "../history/searched-text.js";
import { int64, type LogDocument, type MessageDocument } from "./entry-document.js";
import type { MongoCommands } from "./mongo-commands.js";
import { KEY_TERMS } from "./mongo-indexes.js";
import { termConditions } from "./search-words.js";

const PLACE_FIELDS = { _id: 0, log: 1, seq: 1, timestamp: 1, session_id: 1, origin: 1, role: 1 };

/** Finds the messages of one namespace by the words that their documents hold. */
export class MongoSearch {
  readonly #namespace: string;
  readonly #messages: Collection<LogDocument>;
  readonly #commands: MongoCommands;

  constructor(namespace: string, messages: Collection<LogDocument>, commands: MongoCommands) {
    this.#namespace = namespace;
    this.#messages = messages;
    this.#commands = commands;
  }

  /** Implements {@link LogStore.searchEntries}. */
  async find(search: EntrySearch, { limit, after }: SearchedPage, call?: Call): Promise<FoundEntries> {
    const { terms, scope, owners, sinceMicros, untilMicros } = search;
    const conditions: object[] = termConditions(this.#namespace, terms);
    if (sinceMicros !== undefined) conditions.push({ timestamp: { $gte: int64(sinceMicros) } });
    if (untilMicros !== undefined) conditions.push({ timestamp: { $lt: int64(untilMicros) } });
    if (after !== undefined) conditions.push(...afterPlace(after));
    if (owners !== undefined) {
      conditions.push({ $or: owners.map((uid) => ({ log: { $gte: `${uid}.`, $lt: `${uid}/` } })) });
    }
    const mustRead = mayLackTerms(terms);
    const projection = mustRead ? { ...PLACE_FIELDS, body: 1 } : PLACE_FIELDS;
    const documents = (await this.#commands.read(call, (limits) =>
      this.#messages
        .find({ $and: conditions } as never, { ...limits, projection, limit, batchSize: limit + 1, hint: KEY_TERMS })
        .sort({ timestamp: -1, log: -1, seq: -1 })
        .toArray(),
    )) as Document[] as MessageDocument[];
    const last = documents.at(-1);
    const found = documents.filter(
      ({ body }) => !mustRead || holdsTerms(searchedText(MessageBody.stored(body), scope), terms),
    );
    return {
      entries: found.map((document) => ({
        log: document.log,
        seq: document.seq,
        originSessionId: document.origin ?? document.session_id,
        role: document.role,
        place: placeOf(document),
      })),
      next: last === undefined || documents.length < limit ? null : placeOf(last),
    };
  }
}

function placeOf({ timestamp, log, seq }: MessageDocument): string {
  return writeSearchPlace({ timestampMicros: Number(timestamp), log, seq });
}

function afterPlace(text: string): object[] {
  const { timestampMicros, log, seq } = readSearchPlace(text);
  const timestamp = int64(timestampMicros);
  return [
    { timestamp: { $lte: timestamp } },
    { $or: [{ timestamp: { $lt: timestamp } }, { log: { $lt: log } }, { log, seq: { $lt: seq } }] },
  ];
}
