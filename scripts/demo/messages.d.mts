export interface DemoMessage {
  readonly role: string;
  readonly parts: readonly object[];
}

/** Makes `count` steps of an agent at work, with three messages each. Every 31st call fails. */
export function codingSteps(count: number): readonly DemoMessage[];
