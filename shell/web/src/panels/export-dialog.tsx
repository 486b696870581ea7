import './export-dialog.css';
import { render } from 'preact';
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { exportPng, fileName, saveFile } from '../state/export-picture.ts';
import { addressOf, isAsShown, losesSelection, type Wish } from '../state/picture-address.ts';
import * as store from '../state/store.ts';
import { failure } from '../net/api.ts';
import type { Viewer } from '../state/viewer.ts';
import { emptiness, problemOf, scalesOf } from './export-problem.ts';

/** Dialog for the file that the picture is saved as. Loaded when somebody first asks for it. */

const FORMATS = [
  ['png', 'PNG, pixels'],
  ['svg', 'SVG, shapes and texts'],
  ['pdf', 'PDF, one page'],
] as const;

/** The file: as on the screen the page draws it itself, all else is drawn by the server. */
async function fileOf(viewer: Viewer, wish: Wish): Promise<Blob> {
  if (isAsShown(wish)) return exportPng(viewer, wish.scale);
  const answer = await fetch(addressOf(viewer, wish), { credentials: 'same-origin' });
  if (!answer.ok) throw await failure(answer);
  return answer.blob();
}

function Choice(props: { id: string; label: string; on: boolean; set: (on: boolean) => void }): JSX.Element {
  const { id, label, on, set } = props;
  return (
    <label class="choice" for={id}>
      <input id={id} type="checkbox" checked={on} onChange={(event) => set(event.currentTarget.checked)} />
      {label}
    </label>
  );
}

function Dialog({ viewer, close }: { viewer: Viewer; close: () => void }): JSX.Element {
  const wish = useSignal<Wish>({
    format: 'png',
    scale: 2,
    legend: false,
    names: store.params.showLabels,
    transparent: false,
    title: '',
  });
  const busy = useSignal(false);
  const problem = useSignal('');
  const set = (part: Partial<Wish>): void => {
    wish.value = { ...wish.value, ...part };
  };
  const { format, legend, names, transparent, title } = wish.value;
  const { w, h } = viewer.picture.size;
  const fits = scalesOf(wish.value, { w, h });
  // The largest that still fits where something else that was chosen leaves less room.
  const scale = Math.max(...fits.filter((one) => one <= wish.value.scale));
  const save = async (): Promise<void> => {
    busy.value = true;
    problem.value = '';
    try {
      saveFile(await fileOf(viewer, { ...wish.value, scale }), fileName(`.${format}`));
      close();
    } catch (error) {
      problem.value = problemOf(error, wish.value);
    }
    busy.value = false;
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (!busy.value) void save();
      }}
    >
      <h2 id="export-title">Save the picture</h2>
      <label for="export-format">Format</label>
      <select
        id="export-format"
        class="button select"
        value={format}
        onChange={(event) => set({ format: event.currentTarget.value as Wish['format'] })}
      >
        {FORMATS.map(([name, words]) => (
          <option key={name} value={name}>
            {words}
          </option>
        ))}
      </select>
      <label for="export-size">Size</label>
      <select
        id="export-size"
        class="button select"
        disabled={format !== 'png'}
        value={String(scale)}
        onChange={(event) => set({ scale: Number(event.currentTarget.value) })}
      >
        {fits.map((one) => (
          <option key={one} value={String(one)}>
            {Math.round(w * one)} × {Math.round(h * one)}
          </option>
        ))}
      </select>
      <label for="export-heading">Title</label>
      <input
        id="export-heading"
        type="text"
        maxLength={200}
        value={title}
        placeholder="none"
        onInput={(event) => set({ title: event.currentTarget.value })}
      />
      <div class="choices">
        <Choice id="export-names" label="Names" on={names} set={(on) => set({ names: on })} />
        <Choice id="export-legend" label="Legend" on={legend} set={(on) => set({ legend: on })} />
        <Choice
          id="export-clear"
          label="Transparent background"
          on={transparent}
          set={(on) => set({ transparent: on })}
        />
      </div>
      <p class="hint">{emptiness()}</p>
      {losesSelection(viewer, wish.value) && (
        <p class="hint">
          The selected nodes are too scattered for the server, which shows all alike. A PNG as on the screen
          shows them.
        </p>
      )}
      <p class="problem" role="alert">
        {problem.value}
      </p>
      <div class="acts">
        <button type="button" class="button" id="export-cancel" onClick={close}>
          Cancel
        </button>
        <button type="submit" class="button primary" id="export-save" aria-busy={busy.value}>
          {busy.value ? 'Drawing…' : 'Save'}
        </button>
      </div>
    </form>
  );
}

/** Asks how the picture is to be saved. */
export function openExport(viewer: Viewer): void {
  const dialog = document.createElement('dialog');
  dialog.id = 'export-dialog';
  dialog.setAttribute('aria-labelledby', 'export-title');
  // Keys of the page are none while the dialog is open, wherever the focus is.
  const keys = (event: KeyboardEvent): void => {
    event.stopPropagation();
    if (event.key === 'Escape') dialog.close();
  };
  addEventListener('keydown', keys, true);
  dialog.addEventListener('close', () => {
    removeEventListener('keydown', keys, true);
    render(null, dialog);
    dialog.remove();
  });
  document.body.append(dialog);
  render(<Dialog viewer={viewer} close={() => dialog.close()} />, dialog);
  dialog.showModal();
}
