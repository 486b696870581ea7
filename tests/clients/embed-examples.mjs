// A page in which the examples of the JavaScript client's documentation run as they are printed.

import * as api from '@graphistry/client-api';

window.api = api;

let runs = [];
let subscriptions = [];

/**
 * The client's entry point: each use is watched until it gives its first value, and can be ended. One that is
 * not ended begins anew whenever another connects to the same picture.
 */
function watched(iframe) {
  const flow = api.graphistryJS(iframe);
  const pipe = flow.pipe.bind(flow);
  flow.pipe = (...operators) => {
    const run = { values: 0, error: null };
    runs.push(run);
    const piped = pipe(
      ...operators,
      api.tap({
        next: () => {
          run.values += 1;
        },
        error: (error) => {
          run.error = `${error?.stack ?? ''} ${JSON.stringify(error)}`;
        },
      }),
    );
    const subscribe = piped.subscribe.bind(piped);
    piped.subscribe = (...observers) => {
      const subscription = subscribe(...observers);
      subscriptions.push(subscription);
      return subscription;
    };
    return piped;
  };
  return flow;
}

/** What examples take for granted: the client's exports, and names that stand for one's own values. */
function scope({ user, password, origin }) {
  const url = new URL(origin);
  class Client extends api.Client {
    constructor() {
      super(user, password, undefined, url.protocol.slice(0, -1), url.host, origin);
      window.client = this;
    }
  }
  const all = { ...api, Client, GraphistryJS: watched, graphistryJS: watched };
  return {
    ...all,
    GraphistryModule: all,
    require: () => all,
    elt: document.getElementById('viz'),
    some_mapping: { categorical: { fixed: { a: 'star' }, other: 'circle' } },
    alert: (text) => window.alerts.push(text),
    console: { ...console, log: (...words) => window.logged.push(words.map(String).join(' ')) },
  };
}

const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;

/** Ends what was begun, and connects anew as `g`. */
window.begin = () => {
  for (const subscription of subscriptions) subscription.unsubscribe();
  [runs, subscriptions] = [[], []];
  window.g = watched(document.getElementById('viz'));
};

/** Ends what the last example began, and runs the text of another; `window.runs` are its uses of the client. */
window.runExample = async (text, settings) => {
  window.begin();
  Object.assign(window, { runs, logged: [], alerts: [], thrown: null });
  try {
    await new AsyncFunction('names', `with (names) { ${text} }`)(scope(settings));
    document.dispatchEvent(new Event('DOMContentLoaded'));
  } catch (error) {
    window.thrown = String(error);
  }
};
