import { load, type DocumentPart } from './lazy.ts';

let loaded: Promise<DocumentPart> | null = null;

/** The shared document, loaded when the server first tells of it; what waits for it keeps its order. */
export function documents(): Promise<DocumentPart> {
  return (loaded ??= load.document());
}

/** Where the page has a document, does something with it. */
export function withDocument(act: (all: DocumentPart) => unknown): void {
  if (loaded) void loaded.then(act);
}
