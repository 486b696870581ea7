import type { JSX } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import type { Picture } from '../picture/picture.ts';
import * as act from '../state/actions.ts';
import { cardNumber } from '../state/numbers.ts';
import * as store from '../state/store.ts';
import { Aim } from './control-icons.tsx';
import * as icons from './icons.tsx';

/** Properties that a card shows before it is pinned. */
const HOVER_PROPERTIES = 7;

function show(value: unknown): string {
  if (value === null || value === undefined) return '—';
  if (typeof value === 'number') return cardNumber(value);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function Value({ value }: { value: unknown }): JSX.Element {
  const text = show(value);
  if (typeof value === 'string' && /^https?:\/\/\S+$/i.test(value)) {
    return (
      <a href={value} target="_blank" rel="noopener noreferrer">
        {text}
      </a>
    );
  }
  return <>{text}</>;
}

function CardBody({ card, pinned }: { card: store.Card; pinned: boolean }): JSX.Element {
  const { hoverProperties, cardProperties, cardActions } = store.params;
  const whole = pinned ? cardProperties : hoverProperties;
  const rows = pinned ? card.properties : card.properties.slice(0, HOVER_PROPERTIES);
  const rest = card.properties.length - rows.length;
  return (
    <>
      <div class="head">
        <i style={{ background: card.color }} />
        <b>{card.title || '…'}</b>
        {pinned && (
          <span class="tools">
            {cardActions && (
              <button
                type="button"
                class="bare"
                title="Centre"
                aria-label="Centre"
                onClick={() => act.goTo(card.index)}
              >
                <Aim />
              </button>
            )}
            <button
              type="button"
              class="bare"
              title="Close (Esc)"
              aria-label="Close"
              onClick={act.closeCard}
            >
              <icons.Close />
            </button>
          </span>
        )}
      </div>
      {whole && (
        <dl class={card.pending ? 'pending' : ''}>
          {card.degree !== null && (
            <>
              <dt>degree</dt>
              <dd>{card.degree.toLocaleString('en')}</dd>
            </>
          )}
          {rows.map(({ name, value }) => (
            <>
              <dt title={name}>{name}</dt>
              <dd title={typeof value === 'number' ? String(value) : show(value)}>
                <Value value={value} />
              </dd>
            </>
          ))}
        </dl>
      )}
      {whole && rest > 0 && <div class="rest">+ {rest} more, click the node to see all</div>}
      {pinned && cardActions && act.isPinned(card.index) && (
        <button type="button" class="button wide" onClick={() => act.unpin(card.index)}>
          Let the layout move this node
        </button>
      )}
    </>
  );
}

export function Cards(): JSX.Element | null {
  const hovered = store.hoverCard.value;
  const hover = store.params.showLabelOnHover ? hovered : null;
  const pinned = store.pinnedCard.value;
  useLayoutEffect(() => {
    const picture = act.viewer.value?.picture;
    const stage = document.querySelector<HTMLElement>('.stage');
    if (picture && stage) placeCards(stage, picture);
  });
  return (
    <>
      {pinned && (
        <article class="card pinned" data-node={pinned.index} aria-label="Selected node">
          <CardBody card={pinned} pinned />
        </article>
      )}
      {hover && (
        <div class="card hover" data-node={hover.index} role="tooltip">
          <CardBody card={hover} pinned={false} />
        </div>
      )}
    </>
  );
}

/** Puts each card beside its node, inside the stage. */
export function placeCards(stage: HTMLElement, picture: Picture): void {
  for (const card of stage.querySelectorAll<HTMLElement>('.card[data-node]')) {
    const index = Number(card.dataset.node);
    const at = picture.project(index);
    if (!at) continue;
    const { w, h } = picture.size;
    const gap = picture.radius(index) + 14;
    const { offsetWidth: cw, offsetHeight: ch } = card;
    const right = at[0] + gap + cw <= w - 8;
    const x = right ? at[0] + gap : at[0] - gap - cw;
    const clampX = Math.max(8, Math.min(w - cw - 8, x));
    const clampY = Math.max(8, Math.min(h - ch - 8, at[1] - 18));
    card.style.transform = `translate(${Math.round(clampX)}px, ${Math.round(clampY)}px)`;
    card.style.visibility = 'visible';
  }
}
