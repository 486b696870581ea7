// The page in a real browser. `npm run build` first; see context.mjs for how to aim at a real server.

import './picture.mjs';
import './live.mjs';
import './input.mjs';
import './export.mjs';
import './names.mjs';
import './marks.mjs';
import './bound.mjs';
import './bound-2.mjs';
import './states.mjs';
import './selection.mjs';
