import type { DocumentSession } from '../document/session.ts';
import type { Message } from '../net/session.ts';
import type { Viewer } from './viewer.ts';

const TOLD = new Set(['document', 'changed', 'done', 'refused', 'history', 'counts']);

let loaded: Promise<DocumentSession> | null = null;

/** The shared document, loaded when the server first tells of it; what waits for it keeps its order. */
export function documents(viewer: Viewer): Promise<DocumentSession> {
  loaded ??= import('../document/session.ts').then((all) => new all.DocumentSession(viewer));
  return loaded;
}

/** Whether a message tells of the document. */
export function tellsDocument(message: Message): boolean {
  return TOLD.has(message.t);
}

/** Where the page has a document, does something with it. */
export function withDocument(act: (all: DocumentSession) => unknown): void {
  if (loaded) void loaded.then(act);
}
