// A page that embeds a picture with the JavaScript client, as the client's own examples do.

import * as api from '@graphistry/client-api';

window.api = api;
window.heard = { selection: [], labels: 0, plays: 0 };

/** Runs a function of the client on the connected picture; resolves with what it gives at last. */
window.run = (name, args) =>
  new Promise((done, fail) => {
    let last;
    api
      .of(window.g)
      .pipe(api[name](...args))
      .subscribe(
        (value) => {
          last = value;
        },
        (error) => fail(new Error(JSON.stringify(error) + String(error))),
        () => done(last === undefined ? undefined : true),
      );
  });

/** Reads a value of the view. */
window.read = (path) =>
  new Promise((done, fail) => {
    window.g.models.view.get(path).subscribe(({ json }) => {
      const keys = path.match(/[^.[\]]+/g);
      done(keys.reduce((node, key) => node[key], json.toJSON()));
    }, fail);
  });

window.listen = () => {
  api.selectionUpdates(window.g).subscribe((selection) => window.heard.selection.push(selection));
  api.labelUpdates(window.g).subscribe(() => {
    window.heard.labels += 1;
  });
  api.playUpdates(window.g).subscribe(() => {
    window.heard.plays += 1;
  });
};
