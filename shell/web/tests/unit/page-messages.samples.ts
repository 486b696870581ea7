// Written by a test of graphlume-engine from the messages that the server sends and reads.
import type { ToPage, ToServer } from '../../src/net/page-messages.ts';

export const toPage = [
  {"t":"hello","protocol_min":1,"protocol_max":1,"build":"0.1.0","user":"","notices":[{"slug":"column-missing","text":"There is no column \"x\".","count":1}],"framed":false,"session":"s","dataset":"07070707070707070707070707070707","state":"loading","detail":""},
  {"t":"hello","protocol_min":1,"protocol_max":1,"build":"0.1.0","user":"","notices":[{"slug":"framed","text":"You watch."}],"framed":true,"session":"s","dataset":"07070707070707070707070707070707","state":"loading","detail":"","steers":false,"key":null,"viewer":"v1"},
  {"t":"hello","protocol_min":1,"protocol_max":1,"build":"0.1.0","user":"","notices":[{"slug":"column-missing","text":"There is no column \"x\".","count":1}],"framed":false,"session":"s","dataset":"07070707070707070707070707070707","state":"loading","detail":"","steers":true,"key":"secret","viewer":"v2"},
  {"t":"state","state":"running","detail":"","iterations":40,"iterations_per_s":12.5,"playing":true,"viewers":2,"backend":"cuda","backend_reason":"","placed_by":"","placements":0,"displaced":true,"depths":0,"settings":{"play":5000,"linLog":true,"strongGravity":false,"dissuadeHubs":false,"gravity":1.0,"scalingRatio":1.0,"edgeInfluence":1.0,"precisionVsSpeed":1.0,"lockedX":false,"lockedY":false,"lockedR":false}},
  {"t":"state","state":"stopped","detail":"","iterations":40,"iterations_per_s":12.5,"playing":true,"viewers":2,"backend":"cpu","backend_reason":"","placed_by":"","placements":0,"displaced":true,"depths":0,"settings":{"play":5000,"linLog":true,"strongGravity":false,"dissuadeHubs":false,"gravity":1.0,"scalingRatio":1.0,"edgeInfluence":1.0,"precisionVsSpeed":1.0,"lockedX":false,"lockedY":false,"lockedR":false}},
  {"t":"graph","epoch":1,"name":"g","description":"","node_count":4,"edge_count":3,"node_columns":[{"name":"id","dtype":"int64"}],"edge_columns":[{"name":"id","dtype":"int64"}],"metadata":{"bg":{"color":"#000000"}},"has_positions":true,"notices":[{"slug":"column-missing","text":"There is no column \"x\".","count":1}],"legend":{"node_size":{"title":"degree"}},"edges_named":false,"underlay":{"axes":[],"map":null},"has_edge_colors":false,"layout":{"state":"running","playing":true,"iterations":40,"settings":{"play":5000,"linLog":true,"strongGravity":false,"dissuadeHubs":false,"gravity":1.0,"scalingRatio":1.0,"edgeInfluence":1.0,"precisionVsSpeed":1.0,"lockedX":false,"lockedY":false,"lockedR":false},"placed_by":"","placements":0,"depths":0,"displaced":true}},
  {"t":"graph","epoch":1,"name":"g","description":"","node_count":4,"edge_count":3,"node_columns":[{"name":"id","dtype":"int64"}],"edge_columns":[{"name":"id","dtype":"int64"}],"metadata":{"bg":{"color":"#000000"}},"has_positions":true,"notices":[{"slug":"column-missing","text":"There is no column \"x\".","count":1}],"legend":{"node_size":{"title":"degree"}},"edges_named":false,"underlay":{"axes":[{"r":2.0,"kind":"plain"},{"y":1.5,"kind":"space","label":"b","width":2.0}],"map":{"scale":1.0,"x":0.0,"y":0.0},"origin":[1000000.0,2000000.0]},"has_edge_colors":false,"layout":{"state":"stopped","playing":true,"iterations":40,"settings":{"play":5000,"linLog":true,"strongGravity":false,"dissuadeHubs":false,"gravity":1.0,"scalingRatio":1.0,"edgeInfluence":1.0,"precisionVsSpeed":1.0,"lockedX":false,"lockedY":false,"lockedR":false},"placed_by":"","placements":0,"depths":0,"displaced":true}},
  {"t":"legend","legend":{"node_size":{"title":"degree"}},"underlay":{"axes":[],"map":null}},
  {"t":"legend","legend":{"node_size":{"title":"degree"}},"underlay":{"axes":[{"r":2.0,"kind":"plain"},{"y":1.5,"kind":"space","label":"b","width":2.0}],"map":{"scale":1.0,"x":0.0,"y":0.0},"origin":[1000000.0,2000000.0]}},
  {"t":"columns","epoch":1,"node_columns":[{"name":"id","dtype":"int64"}],"edge_columns":[],"notices":[{"slug":"column-missing","text":"There is no column \"x\".","count":1}]},
  {"t":"collections","collections":[{"id":"a","position":0,"match_count":3,"swatches":["#ff0000"],"name":"A","description":"","palette":null},{"id":"b","position":0,"match_count":null,"swatches":["#ff0000"],"name":"B","description":"","palette":"viridis"}],"background":["#333333"]},
  {"t":"collections","collections":[],"background":[]},
  {"t":"error","slug":"session-closed","message":"this session has ended: it was closed"},
  {"t":"document","revision":1,"document":{"filters/f":{"rule":{"expr":"x > 1"}}},"own":{}},
  {"t":"changed","revision":2,"own":false,"label":"Filter","by":{"name":"ann","kind":"person","you":true},"changes":[{"path":"filters/f","value":{"rule":{"expr":"x > 1"}}}]},
  {"t":"changed","revision":2,"own":false,"label":"Filter","by":{"name":"ann","kind":"agent","you":false},"changes":[{"path":"filters/f","value":null}]},
  {"t":"done","id":"a1","revision":2,"own":true},
  {"t":"refused","id":"a1","slug":"too-large","message":"Too large."},
  {"t":"history","undo":"Filter","redo":null},
  {"t":"history","undo":null,"redo":"Filter"},
  {"t":"counts","revision":2,"nodes":3,"edges":2,"filters":{"f":{"nodes":3,"edges":null},"g":{"nodes":null,"edges":2},"h":{"problem":"There is no column a."}}},
] satisfies ToPage[];

export const toServer = [
  {"t":"ack","seq":7},
  {"t":"play","on":true,"ms":500},
  {"t":"play","on":false},
  {"t":"settings","gravity":2,"linLog":true},
  {"t":"pin","index":3,"x":1.5,"y":-2},
  {"t":"unpin","index":3},
  {"t":"layout","name":"circle"},
  {"t":"layout","name":"kk","params":{"maxiter":10}},
  {"t":"do","id":"a1","label":"Filter","join":"drag-1","changes":[{"path":"filters/f","value":{"rule":{"expr":"x > 1"}}}]},
  {"t":"do","id":"a2","label":"Remove","changes":[{"path":"filters/f","value":null}]},
  {"t":"undo","id":"a3"},
  {"t":"redo","id":"a4"},
  {"t":"hidden"},
  {"t":"visible"},
  {"t":"resume","epoch":1,"seq":9},
] satisfies ToServer[];
