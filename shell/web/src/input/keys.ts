// Keys with their acts, and the list of them that `?` shows.

export type KeyCommand =
  | 'zoom-in'
  | 'zoom-out'
  | 'fit'
  | 'play'
  | 'search'
  | 'let-go'
  | 'left'
  | 'right'
  | 'up'
  | 'down'
  | 'help'
  | 'rectangle'
  | 'lasso'
  | 'all'
  | 'grow'
  | 'invert'
  | 'undo'
  | 'redo';

/** A key that went down, and where. */
export interface Press {
  key: string;
  /** Control or command. */
  ctrl: boolean;
  alt: boolean;
  shift: boolean;
  /** In a field, which keeps its keys. */
  typing: boolean;
  /** On a button, which keeps space. */
  button: boolean;
}

const COMMANDS: Record<string, KeyCommand> = {
  '+': 'zoom-in',
  '=': 'zoom-in',
  '-': 'zoom-out',
  _: 'zoom-out',
  f: 'fit',
  ' ': 'play',
  '/': 'search',
  '?': 'help',
  r: 'rectangle',
  l: 'lasso',
  g: 'grow',
  i: 'invert',
  escape: 'let-go',
  arrowleft: 'left',
  arrowright: 'right',
  arrowup: 'up',
  arrowdown: 'down',
};

/** What a key does; null leaves it to the browser. */
export function commandOf({ key, ctrl, alt, shift, typing, button }: Press): KeyCommand | null {
  const name = key.toLowerCase();
  if (ctrl && name === 'k') return 'search';
  // The browser's own would mark the texts of all panels, and nothing of the picture.
  if (ctrl && name === 'a' && !alt && !typing) return 'all';
  if (ctrl && !alt && !typing && name === 'z') return shift ? 'redo' : 'undo';
  if (ctrl && !alt && !typing && name === 'y') return 'redo';
  if (ctrl || alt || typing) return null;
  if (name === ' ' && button) return null;
  return COMMANDS[name] ?? null;
}
