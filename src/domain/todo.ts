/** One entry of the todo tracker. All fields are free text. */
export interface Todo {
  readonly id: string;
  readonly content: string;
  readonly status: string;
  readonly priority: string;
}

/** The tracker's entries in its order, and the revision that the next change must name. */
export interface TodoList {
  readonly todos: readonly Todo[];
  /** 0 for a list that was never written. */
  readonly revision: number;
}
