import { signal } from "@preact/signals";
import type { Part } from "../api/types.js";
import type { Conversation } from "./conversation.js";
import { asJson, type EditBase, isSame, isText, partsOf, putBack, readForEdit, saveParts } from "./message-edit.js";
import { attempt, reasonOf, toast } from "./toasts.js";

/** One message that is being edited: as texts, or all of its parts as JSON. */
export class MessageEditor {
  /** The message as it was before the edit; undefined until it has been read. */
  readonly base = signal<EditBase | undefined>(undefined);
  readonly parts = signal<readonly Part[]>([]);
  /** The parts as JSON while they are edited as JSON; otherwise undefined. */
  readonly json = signal<string | undefined>(undefined);
  /** The message as it is after a change that somebody else has made meanwhile. */
  readonly theirs = signal<EditBase | undefined>(undefined);
  readonly problem = signal("");
  readonly isSaving = signal(false);
  readonly #conversation: Conversation;
  readonly #messageId: string;
  readonly #position: number;

  constructor(conversation: Conversation, messageId: string, position: number) {
    this.#conversation = conversation;
    this.#messageId = messageId;
    this.#position = position;
    readForEdit(conversation.sessionId, messageId).then(
      (base) => this.begin(base),
      (error) => {
        this.problem.value = reasonOf(error);
      },
    );
  }

  begin(base: EditBase): void {
    const { parts } = base.message;
    this.base.value = base;
    this.parts.value = parts;
    this.json.value = parts.some(isText) ? undefined : asJson(parts);
    this.theirs.value = undefined;
  }

  /** Switches between texts and JSON, and keeps what has been changed. */
  switchView(): void {
    const parts = this.#edited();
    if (parts === undefined) return;
    this.parts.value = parts;
    this.json.value = this.json.value === undefined ? asJson(parts) : undefined;
  }

  /** Resolves to whether the edit is over. A conflict is shown first; saving again then overwrites the other change. */
  async save(): Promise<boolean> {
    const parts = this.#edited();
    const base = this.theirs.value ?? this.base.value;
    if (parts === undefined || base === undefined) return false;
    if (isSame(parts, base.message.parts)) return true;
    this.isSaving.value = true;
    try {
      this.theirs.value = await saveParts(this.#conversation.sessionId, base, parts);
      if (this.theirs.value === undefined) this.#offerUndo(base.message.parts, parts);
      return this.theirs.value === undefined;
    } catch (error) {
      this.problem.value = reasonOf(error);
      return false;
    } finally {
      this.isSaving.value = false;
    }
  }

  /** Returns undefined, and shows why, when the text is not JSON. */
  #edited(): readonly Part[] | undefined {
    const read = this.json.value === undefined ? this.parts.value : partsOf(this.json.value);
    this.problem.value = typeof read === "string" ? read : "";
    return typeof read === "string" ? undefined : read;
  }

  #offerUndo(before: readonly Part[], after: readonly Part[]): void {
    const { sessionId } = this.#conversation;
    const undo = async () => {
      const isDone = await putBack(sessionId, this.#messageId, before, after);
      if (isDone) toast(`Message #${this.#position} is as it was`);
      else toast("Not undone: somebody else has changed the message since", { isError: true });
    };
    toast(`Message #${this.#position} is changed`, {
      action: { label: "Undo", run: () => void attempt("Undo", undo) },
      about: sessionId,
      isOver: this.#changesAfter(after),
      until: this.#conversation.signal,
    });
  }

  /** Says whether the message has changed again, or is gone. Before the page has heard of the edit, it has not. */
  #changesAfter(after: readonly Part[]): () => boolean {
    const { history } = this.#conversation;
    let isEdited = false;
    return () => {
      void history.version.value;
      const message = history.get(this.#position);
      if (message === undefined) return this.#position >= history.count.value;
      if (message.info.id !== this.#messageId) return true;
      const isAsSaved = isSame(message.parts, after);
      isEdited ||= isAsSaved;
      return isEdited && !isAsSaved;
    };
  }
}
