// Unit tests: bundles each test with its TypeScript and runs them under `node --test`.

import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'tests/unit');
const out = join(root, 'node_modules/.unit');
const tests = readdirSync(folder).filter((name) => name.endsWith('.test.ts'));

rmSync(out, { recursive: true, force: true });
await build({
  root,
  configFile: false,
  logLevel: 'warn',
  build: {
    ssr: true,
    outDir: out,
    minify: false,
    rolldownOptions: {
      input: Object.fromEntries(tests.map((name) => [name.replace(/\.ts$/, ''), join(folder, name)])),
      output: { entryFileNames: '[name].mjs' },
    },
  },
});
const files = tests.map((name) => join(out, name.replace(/\.ts$/, '.mjs')));
const { status } = spawnSync(process.execPath, ['--test', ...files], { stdio: 'inherit', cwd: root });
process.exit(status ?? 1);
