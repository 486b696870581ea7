import Graph from 'graphology';
import Sigma from 'sigma';
import { EDGE_OPACITY, RADIUS, start } from './common.js';

void start((host, { nodes, edges, xy, ends }) => {
  const graph = new Graph({ multi: true, type: 'directed', allowSelfLoops: true });
  const size = RADIUS(nodes);
  for (let i = 0; i < nodes; i += 1) {
    graph.addNode(i, { x: xy[2 * i], y: xy[2 * i + 1], size, color: '#f0a040' });
  }
  const color = `rgba(120,160,255,${EDGE_OPACITY})`;
  for (let e = 0; e < edges; e += 1) graph.addEdge(ends[2 * e], ends[2 * e + 1], { size: 1, color });
  const sigma = new Sigma(graph, host, { renderLabels: false });
  return (moved) => {
    graph.updateEachNodeAttributes(
      (node, attributes) => {
        attributes.x = moved[2 * node];
        attributes.y = moved[2 * node + 1];
        return attributes;
      },
      { attributes: ['x', 'y'] },
    );
    sigma.refresh();
  };
});
