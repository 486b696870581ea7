import './legend-sign.css';
import { signal } from '@preact/signals';
import type { CSSProperties, JSX } from 'preact';
import { PLACE, type Entry } from '../net/icon-frame.ts';
import { css, luminance, parseColor } from '../scene/color.ts';
import type { ColorKey, SignLook, Swatch } from '../state/legend.ts';
import * as store from '../state/store.ts';
import { DARK_INK, FILL, LIGHT_INK, SIDES, sizeFor } from './icons.ts';
import { filterOf, ICON_FONT, type Files } from './pictures.ts';

/** Signs before the names of the legend's rows, drawn as icons and badges are on discs. */

/** How often files have arrived: what shows them looks again. */
export const arrivals = signal(0);
/** What has the icon font, flags and pictures. */
export const legendFiles = signal<Files | null>(null);

/** Radius of a row's disc where no size is bound, and of a badge, in pixels. */
const DISC = 8;
const BADGE = 5;
/** Letters of a text that fit a disc. */
const FITTING = 3;

/** The colour of letters on another one. */
function inkOn(color: string | undefined): string | undefined {
  const rgb = parseColor(color ?? null);
  return rgb ? css(luminance(rgb) > 0.3 ? DARK_INK : LIGHT_INK) : undefined;
}

/** A picture that has come, from where it came. */
function Picture({ image: { src, crossOrigin } }: { image: HTMLImageElement }): JSX.Element {
  // Without it the browser would ask for the picture again.
  return <img src={src} crossOrigin={crossOrigin === 'anonymous' ? crossOrigin : undefined} alt="" />;
}

/** A glyph, a flag, a text or a picture; `below` is the colour of the disc under it. */
function Content({ entry, r, below }: { entry: Entry; r: number; below?: string }): JSX.Element | null {
  const files = legendFiles.value;
  // Read, so that what arrives is shown.
  void arrivals.value;
  const { glyph, flag, text } = entry;
  const picture = entry.image ? files?.image(entry.image) : flag ? files?.flag(flag) : null;
  if (entry.image || flag) return picture ? <Picture image={picture} /> : null;
  const color = entry.color ?? inkOn(entry.bg ?? below) ?? 'currentColor';
  if (glyph) {
    if (!files?.hasFont()) return null;
    // Without a disc around it there is more room.
    const share = entry.bg || below ? FILL.icon : 0.98;
    return <Letters text={glyph} font={`"${ICON_FONT}"`} color={color} r={r} share={share} />;
  }
  if (!text) return null;
  if ([...text].length > FITTING) return <b style={{ color, fontSize: `${1.1 * r}px` }}>{text}</b>;
  const font = getComputedStyle(document.body).fontFamily;
  return <Letters text={text} font={font} color={color} r={r} share={FILL.icon} />;
}

interface LettersProps {
  text: string;
  font: string;
  color: string;
  r: number;
  /** Half the diagonal of the ink as a share of `r`. */
  share: number;
}

let pen: CanvasRenderingContext2D | null = null;

/** A glyph or a short text with the middle of its ink in the middle, as large as on a disc of the picture. */
function Letters(props: LettersProps): JSX.Element {
  const { text, font, color, r, share } = props;
  const em = 64;
  pen ??= document.createElement('canvas').getContext('2d');
  if (pen) pen.font = `${em}px ${font}`;
  const box = pen?.measureText(text);
  const [left, right] = [box?.actualBoundingBoxLeft ?? 0, box?.actualBoundingBoxRight ?? em];
  const [up, down] = [box?.actualBoundingBoxAscent ?? em, box?.actualBoundingBoxDescent ?? 0];
  const size = sizeFor({ w: (left + right) / em, h: (up + down) / em }, r, share);
  const [x, y] = [((left - right) / 2) * (size / em), ((up - down) / 2) * (size / em)];
  return (
    <svg class="glyph" viewBox={`${-r} ${-r} ${2 * r} ${2 * r}`}>
      <text x={x} y={y} font-size={size} font-family={font} fill={color}>
        {text}
      </text>
    </svg>
  );
}

/** One icon or badge with its plate and border, filtered and blended as the layer says. */
function OneSign({ look, entry, r, below, plate }: SignProps): JSX.Element {
  const [sx, sy] = SIDES[look.place] ?? SIDES[0];
  const isBadge = sx !== 0 || sy !== 0;
  const off = 0.92 * DISC;
  const { border } = look;
  const line = border && border.stroke !== 'none' && border.width > 0 ? border : null;
  const back = entry.bg_image ? legendFiles.value?.image(entry.bg_image) : null;
  const isWide = [...(entry.text ?? '')].length > FITTING;
  const ground = entry.bg ?? below;
  const ink = entry.border_color ?? inkOn(ground) ?? 'currentColor';
  const style = {
    [isWide ? 'minWidth' : 'width']: `${2 * r}px`,
    height: `${2 * r}px`,
    transform: isBadge ? `translate(${sx * off}px, ${sy * off}px)` : undefined,
    borderRadius: look.shape === 'none' ? '0' : `${r}px`,
    background: entry.bg ?? (isBadge ? below : plate),
    backgroundImage: back ? `url("${back.src}")` : undefined,
    border: line ? `${Math.min(2, line.width)}px ${line.stroke} ${ink}` : undefined,
    filter: look.style ? filterOf(look.style) : undefined,
    mixBlendMode: look.blend,
  } as CSSProperties;
  return (
    <span class={isBadge ? 'mark badge' : isWide ? 'mark wide' : 'mark'} style={style}>
      <Content entry={entry} r={r} below={ground} />
    </span>
  );
}

interface SignProps {
  look: SignLook;
  entry: Entry;
  r: number;
  below?: string;
  /** What keeps a line below it off. */
  plate?: string;
}

/** What a row shows: a disc or a line of the bound size, width, colour and opacity, with icon and badges. */
export function LegendSign(props: { colorKey: ColorKey; swatch: Swatch; color?: string }): JSX.Element {
  const { colorKey, swatch, color } = props;
  const { opacity, size, width, signs = [] } = swatch.shown ?? {};
  const found = signs.flatMap((number, k) => {
    const look = colorKey.signs?.[k];
    const entry = look?.list[number - 1];
    return look && entry ? [{ look, entry }] : [];
  });
  const isBadge = ({ place }: SignLook): boolean => place !== PLACE.ICON && place !== PLACE.COVER;
  const icons = found.filter(({ look }) => !isBadge(look));
  // The cover lies below the icon, and badges above it.
  icons.sort((a, b) => b.look.place - a.look.place);
  const badges = found.filter(({ look }) => isBadge(look));
  const hasBadges = colorKey.signs?.some(isBadge) === true;
  const isNode = colorKey.of === 'nodes';
  const isOnDisc = found.length > 0 && isNode && (color !== undefined || badges.length > 0);
  const hasDisc = size !== undefined || isOnDisc;
  const disc = size ?? 2 * DISC;
  const paint = color ?? (store.theme.value === 'light' ? '#8b95a7' : '#9aa4b5');
  const plain = !hasDisc && width === undefined && (icons.length === 0 || !isNode);
  const edge = icons.length > 0 || badges.length > 0 ? undefined : 'line';
  // An icon on a line as short as here would hide its colour.
  const isLine = ({ color, shown }: Swatch): boolean => Boolean(color || shown?.color || shown?.width);
  const hasLines = colorKey.swatches.some(isLine);
  const isBeside = !isNode && hasLines && colorKey.signs?.some((look) => !isBadge(look)) === true;
  const layout = `sign${hasBadges ? ' badged' : ''}${isBeside ? ' beside' : ''}`;
  return (
    <span class={layout} style={{ opacity }} aria-hidden="true">
      {width !== undefined && <i class="stroke" style={{ height: `${width}px`, background: paint }} />}
      {hasDisc && (
        <i class="disc" style={{ width: `${disc}px`, height: `${disc}px`, background: paint }} />
      )}
      {plain && (color !== undefined || icons.length === 0) && (
        <i class={isNode ? undefined : (edge ?? 'line long')} style={{ background: paint }} />
      )}
      {icons.map(({ look, entry }) => (
        <OneSign
          key={look.place}
          look={look}
          entry={entry}
          r={hasDisc ? Math.max(4, disc / 2) : DISC}
          below={hasDisc ? paint : undefined}
          plate={isNode ? undefined : 'var(--panel)'}
        />
      ))}
      {badges.map(({ look, entry }) => (
        <OneSign
          key={look.place}
          look={look}
          entry={entry}
          r={Math.min(BADGE, (look.max ?? Infinity) / 2)}
          below={paint}
        />
      ))}
    </span>
  );
}
