import cytoscape from 'cytoscape';
import { EDGE_OPACITY, RADIUS, start } from './common.js';

void start((host, { nodes, edges, xy, ends }) => {
  const elements = [];
  for (let i = 0; i < nodes; i += 1) {
    elements.push({ group: 'nodes', data: { id: `n${i}` }, position: { x: xy[2 * i], y: xy[2 * i + 1] } });
  }
  for (let e = 0; e < edges; e += 1) {
    const [source, target] = [`n${ends[2 * e]}`, `n${ends[2 * e + 1]}`];
    elements.push({ group: 'edges', data: { id: `e${e}`, source, target } });
  }
  // In coordinates of the graph, of which the stage shows 4,096 on its 900 pixels.
  const pixel = 4096 / 900;
  const wide = 2 * RADIUS(nodes) * pixel;
  const line = { 'line-color': '#78a0ff', opacity: EDGE_OPACITY, width: pixel, 'curve-style': 'haystack' };
  const cy = cytoscape({
    container: host,
    elements,
    layout: { name: 'preset', fit: true },
    style: [
      { selector: 'node', style: { width: wide, height: wide, 'background-color': '#f0a040' } },
      { selector: 'edge', style: line },
    ],
    renderer: { name: 'canvas', webgl: true, webglBgColor: [11, 13, 18] },
    autoungrabify: true,
    boxSelectionEnabled: false,
    pixelRatio: 1,
  });
  return (moved) => {
    cy.batch(() => {
      cy.nodes().positions((_, i) => ({ x: moved[2 * i], y: moved[2 * i + 1] }));
    });
  };
});
