import { Graph } from '@cosmos.gl/graph';
import { EDGE, EDGE_OPACITY, RADIUS, start } from './common.js';

void start(async (host, { nodes, xy, ends }) => {
  const graph = new Graph(host, {
    spaceSize: 4096,
    enableSimulation: false,
    rescalePositions: false,
    transitionDuration: 0,
    fitViewOnInit: false,
    pointDefaultSize: 2 * RADIUS(nodes),
    pointDefaultColor: '#f0a040',
    linkDefaultColor: [...EDGE.map((c) => 255 * c), 1],
    linkOpacity: EDGE_OPACITY,
    linkDefaultWidth: 1,
    linkVisibilityMinTransparency: 1,
    attribution: '',
  });
  await graph.ready;
  graph.setPointPositions(xy, true);
  graph.setLinks(Float32Array.from(ends));
  graph.render();
  graph.fitView(0);
  return (moved) => {
    graph.setPointPositions(moved, true);
    graph.render();
  };
});
