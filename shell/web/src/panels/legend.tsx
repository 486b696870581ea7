import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { cssForLight, parseColor } from '../scene/color.ts';
import * as store from '../state/store.ts';
import { named } from '../state/theme.ts';
import * as icons from './icons.tsx';

const SHOWN = 6;
const expanded = signal(false);
const folded = signal(false);

function color(text: string): string {
  const themed = store.theme.value === 'light' ? cssForLight(text) : text;
  // Bare hex digits are legal in bindings and not in CSS.
  const rgb = parseColor(themed, named);
  return rgb ? `rgb(${Math.round(rgb.r)} ${Math.round(rgb.g)} ${Math.round(rgb.b)})` : 'transparent';
}

function Ramp({ ramp }: { ramp: { colors: string[]; low: string; high: string } }): JSX.Element {
  const colors = ramp.colors.map(color);
  const list = colors.length === 1 ? [colors[0], colors[0]] : colors;
  return (
    <div class="ramp">
      <div class="scale" style={{ background: `linear-gradient(90deg, ${list.join(', ')})` }} />
      <div class="ends">
        <span>{ramp.low}</span>
        <span>{ramp.high}</span>
      </div>
    </div>
  );
}

/** What the colours mean. */
export function LegendPanel(): JSX.Element | null {
  const legend = store.legendHere.value;
  if (!legend || store.tiny.value || !store.params.info) return null;
  const list = expanded.value ? legend.swatches : legend.swatches.slice(0, SHOWN);
  const rest = legend.swatches.length + legend.more - list.length;
  const counted = legend.swatches.some((swatch) => swatch.count !== null);
  return (
    <section class="legend panel" data-over aria-label={`Legend: ${legend.title}`}>
      <button
        type="button"
        class="legend-title"
        aria-expanded={!folded.value}
        onClick={() => {
          folded.value = !folded.value;
        }}
      >
        <span>{legend.title}</span>
        {counted && !folded.value && <span class="quiet">nodes</span>}
        <span class={folded.value ? 'fold closed' : 'fold'}>
          <icons.Chevron />
        </span>
      </button>
      {!folded.value && (
        <>
          {legend.ramp && <Ramp ramp={legend.ramp} />}
          <ul>
            {list.map((swatch) => (
              <li key={swatch.label + swatch.color}>
                <i style={{ background: color(swatch.color) }} />
                <span class="name" title={swatch.label}>
                  {swatch.label}
                </span>
                {swatch.count !== null && <span class="count">{swatch.count.toLocaleString('en')}</span>}
              </li>
            ))}
          </ul>
          {rest > 0 && legend.swatches.length > SHOWN && !expanded.value && (
            <button
              type="button"
              class="more"
              onClick={() => {
                expanded.value = true;
              }}
            >
              + {rest.toLocaleString('en')} more…
            </button>
          )}
          {rest > 0 && (expanded.value || legend.swatches.length <= SHOWN) && (
            <div class="more">+ {rest.toLocaleString('en')} more</div>
          )}
          {legend.size && <div class="size-note">Size: {legend.size}</div>}
        </>
      )}
    </section>
  );
}
