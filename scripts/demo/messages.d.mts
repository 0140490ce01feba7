export interface DemoMessage {
  readonly role: string;
  readonly parts: readonly object[];
}

/** So many steps of an agent at work, three messages each; every 31st call fails. */
export function codingSteps(count: number): readonly DemoMessage[];
