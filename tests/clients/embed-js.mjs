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

/** What a function of the client gives at last, as the client reads it. */
window.value = (name, args) =>
  new Promise((done, fail) => {
    let last;
    api
      .of(window.g)
      .pipe(api[name](...args))
      .subscribe(
        ({ result }) => {
          last = result;
        },
        (error) => fail(new Error(JSON.stringify(error) + String(error))),
        () => done(last?.json?.toJSON() ?? last),
      );
  });

/** Sets what a function of the client finds by the model of the view. */
window.setWithModel = (value) =>
  new Promise((done, fail) => {
    const values = (model) => (model === window.g.models.view ? [value] : []);
    api.of(window.g).pipe(api.makeSetterWithModel('view', values)).subscribe(done, fail);
  });

/** Keeps what a subscription of the client tells: one by an observable, or by a function of that name. */
window.hear = (name, [how]) => {
  const told = (window.heard[name] = []);
  const keep = (value) => told.push(value);
  if (typeof how === 'string') api[name]({ g: window.g, [how]: keep });
  else api[name](window.g, how).subscribe(keep);
};

/** Sends an operation past the client, which leaves out what it does not know. */
window.send = (operation) =>
  new Promise((done) => {
    const id = `own-${Math.random()}`;
    const listen = ({ data }) => {
      if (data?.type !== `falcor-operation-${id}`) return;
      removeEventListener('message', listen);
      done(data);
    };
    addEventListener('message', listen);
    const { contentWindow } = document.getElementById('viz');
    contentWindow.postMessage({ type: 'falcor-operation', id, ...operation }, '*');
  });
