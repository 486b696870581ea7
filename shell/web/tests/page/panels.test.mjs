// The panels of the shared document, the console and the server's picture in a real browser; the same rules
// as for page.test.mjs.

import './filters.mjs';
import './histograms.mjs';
import './acts.mjs';
import './collections.mjs';
import './legend.mjs';
import './legend-signs.mjs';
import './lost.mjs';
import './axe.mjs';
import './afar.mjs';
import './collapse.mjs';
import './space.mjs';
import './first-picture.mjs';
import './quiet.mjs';
import './still.mjs';
