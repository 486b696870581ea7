// The graphs that gallery.py has uploaded, and the headers with which their owner opens them.

import { readFileSync } from 'node:fs';

export async function galleryOf(list, account, password) {
  const graphs = JSON.parse(readFileSync(list, 'utf8'));
  const base = new URL(graphs[0].address).origin;
  const login = await fetch(`${base}/api-token-auth/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: account, password }),
  });
  if (!login.ok) throw new Error(`${account} cannot sign in at ${base}: ${login.status}`);
  const { token } = await login.json();
  return { graphs, base, headers: { Authorization: `Bearer ${token}` } };
}

/** The address of a graph in the session that shows it already, without a splash. */
export function addressOf({ address, session }, more = {}) {
  const url = new URL(address);
  const set = { session, splashAfter: 'false', ...more };
  for (const [key, value] of Object.entries(set)) url.searchParams.set(key, value);
  return url;
}
