import type { Api } from '../net/api.ts';
import type { LabelLayer } from '../picture/label-layer.ts';
import type { Picture } from '../picture/picture.ts';
import { css } from '../scene/color.ts';
import * as store from './store.ts';

/** The hovered and the selected node, with their highlight and their cards. */
export class Focus {
  hovered = -1;
  selected = -1;
  private readonly asking = new Map<typeof store.hoverCard, AbortController>();

  constructor(
    private readonly picture: Picture,
    private readonly labels: LabelLayer,
    private readonly api: Api,
  ) {}

  get any(): boolean {
    return this.hovered >= 0 || this.selected >= 0;
  }

  clear(): void {
    this.hovered = this.selected = -1;
    store.hoverCard.value = store.pinnedCard.value = null;
  }

  /** Answers whether anything changed. */
  hover(index: number): boolean {
    if (index === this.hovered) return false;
    this.hovered = index;
    this.picture.setLit(index >= 0 ? index : this.selected);
    this.nameHovered();
    if (index < 0 || index === this.selected) store.hoverCard.value = null;
    else void this.showCard(index, store.hoverCard);
    return true;
  }

  select(index: number): void {
    this.selected = index;
    this.picture.setLit(index >= 0 ? index : this.hovered);
    this.nameHovered();
    if (index < 0) {
      store.pinnedCard.value = null;
      return;
    }
    store.hoverCard.value = null;
    void this.showCard(index, store.pinnedCard);
  }

  /** Without cards the hovered node is named beside it. */
  private nameHovered(): void {
    const named = store.params.showLabelOnHover || this.hovered === this.selected;
    const label = this.hovered >= 0 && !named ? this.labels.labelOf(this.hovered) : null;
    this.labels.setExtra(label === null ? -1 : this.hovered, label ?? '');
  }

  private async showCard(index: number, target: typeof store.hoverCard): Promise<void> {
    const rgba = this.picture.data.nodeColor?.subarray(index * 4, index * 4 + 4);
    const color = rgba ? css({ r: rgba[0], g: rgba[1], b: rgba[2], a: 1 }) : 'transparent';
    const label = this.labels.labelOf(index) ?? '';
    target.value = { index, title: label, color, degree: null, properties: [], pending: true };
    this.asking.get(target)?.abort();
    const abort = new AbortController();
    this.asking.set(target, abort);
    try {
      const card = await this.api.card(index, abort.signal);
      if (target.value?.index !== index) return;
      target.value = {
        index,
        title: String(card.title ?? card.id ?? (label || `node ${index}`)),
        color,
        degree: card.degree ?? null,
        properties: card.properties ?? [],
        pending: false,
      };
    } catch {
      if (abort.signal.aborted || target.value?.index !== index) return;
      target.value = { ...target.value, title: label || `node ${index}`, pending: false };
    }
  }
}
