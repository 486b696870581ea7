import type { Message } from '../net/session.ts';
import { load, type DocumentPart } from './lazy.ts';

const TOLD = new Set(['document', 'changed', 'done', 'refused', 'history', 'counts']);

let loaded: Promise<DocumentPart> | null = null;

/** The shared document, loaded when the server first tells of it; what waits for it keeps its order. */
export function documents(): Promise<DocumentPart> {
  return (loaded ??= load.document());
}

/** Whether a message tells of the document. */
export function tellsDocument(message: Message): boolean {
  return TOLD.has(message.t);
}

/** Where the page has a document, does something with it. */
export function withDocument(act: (all: DocumentPart) => unknown): void {
  if (loaded) void loaded.then(act);
}
