/** The content of an attachment, which tells in each piece what it is of. */
export function contentOf(sessionId: string, id: string, size: number): Buffer {
  return Buffer.alloc(size, markOf(sessionId, id));
}

export function markOf(sessionId: string, id: string): string {
  return `${sessionId} has ${id}; `;
}
