import type { DocumentSession } from './session.ts';

/** The page's one session of the document, for what its panels do. */

let current: DocumentSession | null = null;

export function setSession(value: DocumentSession): void {
  current = value;
}

export function session(): DocumentSession | null {
  return current;
}
