// Fetches the graph and shows it with one library; `window.peer` is what the measuring script talks to.

/** `show(host, graph)` answers a function that takes new positions of all nodes and draws them. */
export async function start(show) {
  const size = new URL(location.href).searchParams.get('size');
  const bytes = await (await fetch(`/graph-${size}.bin`)).arrayBuffer();
  const arrived = performance.now();
  const [nodes, edges] = new Uint32Array(bytes, 0, 2);
  const xy = new Float32Array(bytes, 8, 2 * nodes);
  const ends = new Uint32Array(bytes, 8 + 8 * nodes, 2 * edges);
  window.peer = { nodes, edges, xy, arrived, update: null };
  window.peer.update = await show(document.getElementById('stage'), { nodes, edges, xy, ends });
}

/** Radius of a node in pixels and opacity of an edge, as the page of Graphlume has them at these sizes. */
export const RADIUS = (nodes) => (nodes <= 20_000 ? 2 : 1);
export const EDGE = [120 / 255, 160 / 255, 1];
export const EDGE_OPACITY = 0.05;
