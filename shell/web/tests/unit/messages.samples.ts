// Made by the tests of graphlume-service from what the server sends; `npm run check` holds it to the types.
import type { Collapsed, Collection, DocumentMessage, Encoding, Filter } from '../../src/net/messages.ts';

export const told: DocumentMessage[] = [
  {"t":"document","revision":0,"document":{},"own":{}},
  {"t":"changed","revision":1,"own":false,"label":"by a person","by":{"name":"User(UserId(1))","kind":"person","you":true},"changes":[{"path":"filters/f","value":{"kind":"filter","name":"","on":true,"order":0.0,"rule":{"expr":"point:degree > 3"}}},{"path":"collections/c","value":{"name":"Ten","description":"","node_color":"#ff0000","edge_color":null,"palette":null,"on":true,"order":0.0,"rule":{"sets":["a","b"]}}},{"path":"collapsed/g","value":{"name":"Ten","on":true,"order":0.0,"rule":{"nodes":"Y2AEAA=="}}},{"path":"encodings/node.color","value":{"attribute":"kind","variation":"categorical"}}]},
  {"t":"history","undo":"by a person","redo":null},
  {"t":"changed","revision":2,"own":false,"label":"by an agent","by":{"name":"Agent(UserId(1))","kind":"agent","you":false},"changes":[{"path":"filters/f","value":{"kind":"filter","name":"","on":true,"order":0.0,"rule":{"expr":"point:degree > 3"}}},{"path":"collections/c","value":{"name":"Ten","description":"","node_color":"#ff0000","edge_color":null,"palette":null,"on":true,"order":0.0,"rule":{"sets":["a","b"]}}},{"path":"collapsed/g","value":{"name":"Ten","on":true,"order":0.0,"rule":{"nodes":"Y2AEAA=="}}},{"path":"encodings/node.color","value":{"attribute":"kind","variation":"categorical"}}]},
  {"t":"history","undo":null,"redo":null},
  {"t":"counts","revision":7,"nodes":3,"edges":0,"filters":{"f":{"nodes":3,"edges":null},"g":{"problem":"[column-not-found] column \"a\" does not exist in the node table | field: a | suggestion: did you mean \"b\"?"}}},
];
export const filter: Filter = {"kind":"filter","name":"","on":true,"order":0.0,"rule":{"expr":"point:degree > 3"}};
export const collection: Collection = {"name":"Ten","description":"","node_color":"#ff0000","edge_color":null,"palette":null,"on":true,"order":0.0,"rule":{"sets":["a","b"]}};
export const collapsed: Collapsed = {"name":"Ten","on":true,"order":0.0,"rule":{"nodes":"Y2AEAA=="}};
export const encoding: Encoding = {"attribute":"kind","variation":"categorical"};
