import { setSession } from '../document/current.ts';
import { DocumentSession } from '../document/session.ts';
import * as instruments from '../panels/instruments.tsx';
import type { LiveViewer } from '../state/live-viewer.ts';

/** The shared document with its buttons and panels, loaded when the server first tells of it. */
export function start(viewer: LiveViewer): DocumentSession {
  const session = new DocumentSession(viewer, viewer.link, instruments);
  setSession(session);
  return session;
}
