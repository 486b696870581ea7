// Pictures that the rules of the page keep the browser from loading.

/** The site of a picture that the browser was not allowed to load; null where the report names none. */
export function blockedSite(directive: string, blocked: string): string | null {
  if (!/^img-src/.test(directive)) return null;
  try {
    const { origin, protocol } = new URL(blocked);
    return /^https?:$/.test(protocol) ? origin : null;
  } catch {
    return null;
  }
}
