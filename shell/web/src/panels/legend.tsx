import { signal, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { cssForLight, parseColor } from '../scene/color.ts';
import * as act from '../state/actions.ts';
import { withBound } from '../state/bound.ts';
import type { BoundLayer } from '../state/lazy.ts';
import { readLegend, type ColorKey, type Swatch } from '../state/legend.ts';
import * as store from '../state/store.ts';
import { named } from '../state/theme.ts';
import { fill, keyOf } from './collection-key.ts';
import { Chevron } from './control-icons.tsx';
import * as icons from './icons.tsx';

const SHOWN = 6;

/** Draws what encodings of the legend and icons add to rows; it comes with what draws icons. */
const signs = signal<BoundLayer['LegendSign'] | null>(null);

function wantSigns(): void {
  if (signs.peek()) return;
  withBound((bound) => {
    signs.value = bound.LegendSign;
  });
}

/** A colour as this page shows it; what nobody chose `follows` the theme. */
function color(text: string, follows = false): string {
  const themed = follows && store.theme.value === 'light' ? cssForLight(text) : text;
  // Bare hex digits are legal in bindings and not in CSS.
  const rgb = parseColor(themed, named);
  return rgb ? `rgb(${Math.round(rgb.r)} ${Math.round(rgb.g)} ${Math.round(rgb.b)})` : 'transparent';
}

function Ramp({ ramp }: { ramp: { colors: string[]; low: string; high: string } }): JSX.Element {
  const colors = ramp.colors.map((stop) => color(stop));
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

/** What stands before the name in a row. */
function Sign({ colorKey, swatch }: { colorKey: ColorKey; swatch: Swatch }): JSX.Element {
  const Drawn = signs.value;
  const { swatches = [] } = swatch.collection ?? {};
  const own = swatch.shown?.color ?? swatch.color;
  const follows = colorKey.of === 'nodes' && !swatch.shown?.color && !swatch.chosen;
  const plain = own === '' ? undefined : color(own, follows);
  // One of several colours shows them side by side.
  const background = swatches.length > 1 ? fill(swatches) : plain;
  const isRich = colorKey.swatches.some((other) => other.shown);
  if (Drawn && isRich) return <Drawn colorKey={colorKey} swatch={swatch} color={background} />;
  const kind = { nodes: undefined, edges: 'line', elements: 'rest' }[colorKey.of];
  return <i class={kind} style={{ background }} />;
}

/** The meaning of one side's colours, or of another column; each can be folded and unfolded by itself. */
function Key({ colorKey, id }: { colorKey: ColorKey; id?: string }): JSX.Element {
  // On a phone the picture comes first.
  const isOpen = useSignal(store.viewport.value.w >= 480);
  const isWhole = useSignal(false);
  const list = isWhole.value ? colorKey.swatches : colorKey.swatches.slice(0, SHOWN);
  const rest = colorKey.swatches.length + colorKey.more - list.length;
  const counted = colorKey.swatches.some((swatch) => swatch.count !== null);
  return (
    <div class="key" id={id}>
      <button
        type="button"
        class="legend-title"
        aria-expanded={isOpen.value}
        onClick={() => {
          isOpen.value = !isOpen.value;
        }}
      >
        <span>{colorKey.title}</span>
        {isOpen.value && (counted || colorKey.of !== 'nodes') && <span class="quiet">{colorKey.of}</span>}
        <span class={isOpen.value ? 'fold' : 'fold closed'}>
          <Chevron />
        </span>
      </button>
      {isOpen.value && (
        <>
          {colorKey.ramp && <Ramp ramp={colorKey.ramp} />}
          <ul>
            {list.map((swatch) => (
              <li key={swatch.label + swatch.color}>
                <button
                  type="button"
                  title={`${swatch.collection?.description || swatch.label}: click selects, Alt click hides`}
                  onClick={(event) => act.pickLegendEntry(colorKey, swatch, event.altKey)}
                >
                  <Sign colorKey={colorKey} swatch={swatch} />
                  <span class="name">{swatch.label}</span>
                  {swatch.count !== null && <span class="count">{swatch.count.toLocaleString('en')}</span>}
                </button>
                {store.instruments.value && (
                  <button
                    type="button"
                    class="bare hide"
                    aria-label={`Hide ${swatch.label}`}
                    title="Hide"
                    onClick={() => act.pickLegendEntry(colorKey, swatch, true)}
                  >
                    <icons.Close />
                  </button>
                )}
              </li>
            ))}
          </ul>
          {rest > 0 && colorKey.swatches.length > SHOWN && !isWhole.value && (
            <button
              type="button"
              class="more"
              onClick={() => {
                isWhole.value = true;
              }}
            >
              + {rest.toLocaleString('en')} more…
            </button>
          )}
          {rest > 0 && (isWhole.value || colorKey.swatches.length <= SHOWN) && (
            <div class="more">+ {rest.toLocaleString('en')} more</div>
          )}
          {colorKey.lines?.map((line) => (
            <div class="quiet lines" key={line}>
              {line}
            </div>
          ))}
        </>
      )}
    </div>
  );
}

/** What the colours of nodes and edges mean. */
export function LegendPanel(): JSX.Element | null {
  const legend = readLegend(store.legendHere.value);
  const isRich = legend?.keys.some((key) => key.swatches.some((swatch) => swatch.shown)) === true;
  useEffect(() => {
    if (isRich) wantSigns();
  }, [isRich]);
  const { value: collections } = store.collections;
  const painted = collections.entries.length > 0 || collections.background !== null;
  const isListed = store.params.showCollections ?? painted;
  if (!(legend ?? isListed) || store.tiny.value || !store.params.info) return null;
  const keys = [...(isListed ? [keyOf(collections)] : []), ...(legend?.keys ?? [])];
  const titles = keys.map((key) => key.title).join(', ');
  return (
    <section class="legend panel" data-over aria-label={`Legend: ${titles}`}>
      {keys.map((key) => (
        <Key
          key={`${key.of} ${key.title}`}
          colorKey={key}
          id={key.of === 'elements' ? 'collections' : undefined}
        />
      ))}
      {legend?.scales.map(({ of, title, low, high }) => (
        <div class="size-note" key={of}>
          {of}: {title}
          {low !== null && title !== 'degree' && (
            <span class="count">
              {' '}
              {low}–{high}
            </span>
          )}
        </div>
      ))}
    </section>
  );
}
