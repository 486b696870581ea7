// A WebGL context that draws nothing, for browsers that have none.

/** What a few calls have to answer; every other call answers something that is there and does nothing. */
const ANSWERS: Record<string, unknown> = {
  // Of a lost context nothing is asked back.
  isContextLost: true,
  // Nothing is on its way.
  fenceSync: null,
  getParameter: 4096,
};

/** All that draws stays as it is, and where nodes are, what is under the pointer and the panels work. */
export function noGl(): WebGL2RenderingContext {
  const nothing: object = new Proxy(() => undefined, {
    get: (_, name) => {
      if (typeof name !== 'string' || /^[A-Z]/.test(name)) return 0;
      return name in ANSWERS ? (): unknown => ANSWERS[name] : (): unknown => nothing;
    },
  });
  return nothing as WebGL2RenderingContext;
}
