import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { among, moment } from '../document/words.ts';
import * as facets from '../facets/facets.ts';
import { bars, moved, resized, shareOf, snapped, type Range } from '../facets/scale.ts';
import type { NumberHistogram } from '../net/messages.ts';

const WIDTH = 256;
const HEIGHT = 52;
/** How near to an end of the brush one has to press to move that end, in pixels. */
const NEAR = { mouse: 6, touch: 16 };
/** How far a press has to move to begin a brush, in pixels. */
const SLOP = 3;

type Grip =
  | { what: 'new'; from: number }
  | { what: 'end'; other: number }
  | { what: 'move'; from: number; range: Range };

const STEPS: Record<string, number> = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 };

/** What a press at a share of the width takes hold of. */
function gripAt(edges: readonly number[], range: Range | null, share: number, near: number): Grip {
  if (!range) return { what: 'new', from: share };
  const [a, b] = range.map((value) => shareOf(edges, value));
  if (Math.abs(share - a) < near) return { what: 'end', other: b };
  if (Math.abs(share - b) < near) return { what: 'end', other: a };
  return share > a && share < b ? { what: 'move', from: share, range } : { what: 'new', from: share };
}

/** Bars of numbers or dates; a brush on them is drawn, moved and resized by pointer and by keys. */
export function NumberChart({ histogram }: { histogram: NumberHistogram }): JSX.Element {
  const dragged = useSignal<Range | null>(null);
  const grip = useRef<Grip | null>(null);
  const join = useRef('');
  const { edges } = histogram;
  const [low, high] = [edges[0], edges[edges.length - 1]];
  const known = facets.brushOf(histogram);
  const range = dragged.value ?? (known && 'range' in known ? known.range : null);
  const write = histogram.kind === 'date' ? moment : among;
  const words = (value: number): string => write(value, high - low);
  const most = Math.max(1, ...histogram.total);

  const set = (next: Range | null): void => {
    dragged.value = next;
    void facets.setRange(histogram, next, join.current).then(() => {
      // What the server has taken is shown from now on.
      if (!grip.current) dragged.value = null;
    });
  };
  const clear = (): void => {
    join.current = facets.newGesture();
    set(null);
  };
  const share = (event: PointerEvent): number => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  };

  const onDown = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    const target = event.currentTarget as HTMLElement;
    target.setPointerCapture(event.pointerId);
    join.current = facets.newGesture();
    const near = NEAR[event.pointerType === 'touch' ? 'touch' : 'mouse'] / target.clientWidth;
    grip.current = gripAt(edges, range, share(event), near);
  };

  const onMove = (event: PointerEvent): void => {
    const held = grip.current;
    if (!held) return;
    const at = share(event);
    if (held.what === 'new' && !dragged.value && Math.abs(at - held.from) * WIDTH < SLOP) return;
    const bins = edges.length - 1;
    const next =
      held.what === 'move'
        ? moved(edges, held.range, Math.round((at - held.from) * bins))
        : snapped(edges, held.what === 'new' ? held.from : held.other, at);
    if (range?.[0] !== next[0] || range[1] !== next[1]) set(next);
  };

  const onUp = (): void => {
    grip.current = null;
    const last = dragged.value;
    if (last) set(last);
  };

  const onKey = (event: KeyboardEvent): void => {
    const by = STEPS[event.key];
    if (by !== undefined) {
      if (!range) set(snapped(edges, 0.25, 0.75));
      else set(event.shiftKey ? resized(edges, range, by) : moved(edges, range, by));
    } else if (event.key === 'Escape' || event.key === 'Delete' || event.key === 'Backspace') {
      if (!range) return;
      clear();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };

  const part = range?.map((value) => 100 * shareOf(edges, value));
  return (
    <>
      <div
        class="chart"
        role="slider"
        tabIndex={0}
        aria-label={`Range of ${histogram.name}`}
        aria-valuemin={low}
        aria-valuemax={high}
        aria-valuenow={range?.[0] ?? low}
        aria-valuetext={range ? `${words(range[0])} to ${words(range[1])}` : 'all'}
        title="Drag to keep a range; arrows move it, with Shift they resize it, Esc removes it"
        onPointerDown={onDown}
        onPointerMove={onMove}
        onPointerUp={onUp}
        onPointerCancel={onUp}
        onDblClick={clear}
        onKeyDown={onKey}
        onFocus={() => {
          join.current = facets.newGesture();
        }}
      >
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          <path class="total" d={bars(histogram.total, most, WIDTH, HEIGHT)} />
          <path class="passing" d={bars(histogram.passing, most, WIDTH, HEIGHT)} />
        </svg>
        {part && <i class="brush" style={{ left: `${part[0]}%`, width: `${part[1] - part[0]}%` }} />}
      </div>
      <div class="ends">
        <span>{words(range?.[0] ?? low)}</span>
        {histogram.nulls.total > 0 && <span>{histogram.nulls.total.toLocaleString('en')} without</span>}
        <span>{words(range?.[1] ?? high)}</span>
      </div>
    </>
  );
}
