import { effect } from '@preact/signals';
import { afar, needsAfar, setAfar } from '../state/afar.ts';
import { load } from '../state/lazy.ts';
import * as store from '../state/store.ts';

/** Nodes above which a stage cannot show each of them apart. */
export const MANY = 3000;

/** Loads what shows groups of nodes once a graph needs it; the picture is on the screen by then. */
export function watchAfar(relabel: () => void): void {
  effect(() => {
    const wanted = store.nodeCount.value > MANY || needsAfar.value;
    if (!wanted || afar.layer || afar.loading) return;
    afar.loading = true;
    void load.afar().then((layer) => {
      setAfar(layer);
      relabel();
    });
  });
}
