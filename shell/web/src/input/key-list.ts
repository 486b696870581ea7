/** The keys as people read them. */
export const KEY_LIST: readonly { keys: readonly string[]; does: string }[] = [
  { keys: ['/', 'Ctrl K'], does: 'Search nodes' },
  { keys: ['Space'], does: 'Run or pause the layout' },
  { keys: ['F'], does: 'Show everything' },
  { keys: ['+', '-'], does: 'Zoom in and out' },
  { keys: ['←', '→', '↑', '↓'], does: 'Move the view' },
  { keys: ['Right drag', 'Shift ←'], does: 'Turn the third dimension' },
  { keys: ['Shift click', 'Shift drag'], does: 'Select more nodes; with Alt fewer' },
  { keys: ['R', 'L'], does: 'Drag a rectangle or a lasso to select' },
  { keys: ['Ctrl A', 'I', 'G'], does: 'Select all, the others, the neighbours' },
  { keys: ['Ctrl Z', 'Ctrl Y'], does: 'Take the last change back, do it again' },
  { keys: ['Esc'], does: 'Let go of what is selected, close this list' },
  { keys: ['?'], does: 'Show or hide this list' },
];
