import type { Change } from '../net/page-messages.ts';
import { AXES } from './calls.ts';

/** Encodings as the clients' scripts set them, and as the document has them. */

function object(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** Axes as the document has them, where the server checks them; null goes back to the dataset's own. */
function axes(value: unknown): unknown {
  const { reset, rows } = object(value);
  return reset === true || rows === undefined || rows === null ? null : { rows };
}

/** An encoding as the document has it; null goes back to the dataset's own. */
function encoding(value: unknown): unknown {
  const { reset, attribute, variation, colors, mapping } = object(value);
  if (reset === true || typeof attribute !== 'string') return null;
  // Some callers wrap a whole encoding into the mapping.
  const inner = object(object(mapping).mapping);
  const map = Object.keys(inner).length > 0 ? inner : mapping;
  return {
    attribute,
    ...(variation === undefined ? {} : { variation }),
    ...(colors === undefined ? {} : { colors }),
    ...(map === undefined ? {} : { mapping: map }),
  };
}

/** What a script has set of encodings: those that are shown, and those to which a reset goes back. */
export class Encodings {
  private readonly own = new Set<string>();
  private readonly defaults = new Map<string, unknown>();

  /**
   * The change of the document that setting an encoding means, null for none, and what is to be kept of it
   * once it was made. A default is shown until the script sets another encoding.
   */
  change(path: string, value: unknown, isDefault: boolean): { change: Change | null; kept: () => void } {
    const wanted = path === AXES ? axes(value) : encoding(value);
    if (isDefault) {
      const kept = (): void => void this.defaults.set(path, wanted);
      return { change: this.own.has(path) ? null : { path, value: wanted }, kept };
    }
    const kept = (): void => {
      if (wanted === null) this.own.delete(path);
      else this.own.add(path);
    };
    return { change: { path, value: wanted ?? this.defaults.get(path) ?? null }, kept };
  }
}
