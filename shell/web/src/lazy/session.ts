import { setSession } from '../document/current.ts';
import { DocumentSession } from '../document/session.ts';
import * as instruments from '../panels/instruments.tsx';
import type { Viewer } from '../state/viewer.ts';

/** The shared document with its buttons and panels, loaded when the server first tells of it. */
export function start(viewer: Viewer): DocumentSession {
  const session = new DocumentSession(viewer, instruments);
  setSession(session);
  return session;
}
