import { defineConfig } from 'vite';

// The page is served at /graph/graph.html, so everything is addressed relative to that folder.
// Asset names carry a hash, and no script is inlined: the page runs under `script-src 'self'`.
export default defineConfig({
  base: './',
  plugins: [
    {
      // Comments and indents of shaders lie within texts, where the minifier leaves them.
      name: 'short-shaders',
      enforce: 'pre',
      transform(code, id) {
        if (!/shaders\.ts$/.test(id)) return null;
        const bare = code.replace(/\/\*\*[^]*?\*\/|\/\/ [^\n`]*/g, '').replace(/\n\s+/g, '\n');
        // Not around minus signs, for two of them are one of another kind, nor on lines for the preprocessor.
        const close = (text: string) =>
          text.replace(/^(?!#).*$/gm, (line: string) => line.replace(/ *([=*/<>(){},;?:+]) */g, '$1'));
        const short = bare.replace(/`[^`]*`/g, (text: string) => close(text).replace(/([;{}])\n(?!#)/g, '$1'));
        return { code: short, map: null };
      },
    },
  ],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2022',
    outDir: 'dist',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
    rolldownOptions: {
      input: 'graph.html',
      // All that the page starts with in one chunk: by itself the bundler makes one of each module that
      // chunks on demand share, and these pack worse.
      output: { codeSplitting: { groups: [{ name: 'graph', tags: ['$initial'] }] } },
    },
  },
  server: {
    port: 5173,
    proxy: {
      '/viz': { target: process.env.GRAPHLUME_URL ?? 'http://127.0.0.1:8787', ws: true },
      '/api': { target: process.env.GRAPHLUME_URL ?? 'http://127.0.0.1:8787' },
    },
  },
});
