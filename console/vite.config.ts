import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

/** Writes a compressed copy beside each script and style sheet, which the service sends to browsers that accept it. */
const compressed: Plugin = {
  name: 'compressed',
  apply: 'build',
  writeBundle({ dir = '' }) {
    const assets = join(dir, 'assets');
    for (const name of readdirSync(assets)) {
      if (!/\.(js|css)$/.test(name)) continue;
      const content = readFileSync(join(assets, name));
      writeFileSync(join(assets, `${name}.br`), brotliCompressSync(content));
      writeFileSync(join(assets, `${name}.gz`), gzipSync(content, { level: 9 }));
    }
  },
};

export default defineConfig(({ command }) => {
  // Tests set NODE_ENV to `test`, but have to run the build that users get.
  if (command === 'build') process.env.NODE_ENV = 'production';
  return {
    root: import.meta.dirname,
    // Relative URLs, because a proxy may serve the console below a prefix.
    base: './',
    plugins: [compressed],
    // For `npm run dev` beside a service with ADMIN_PORT=8081. The proxy sets `origin`, because the service only accepts
    // requests from its own pages.
    server: {
      proxy: {
        '/v1': {
          target: 'http://127.0.0.1:8081',
          changeOrigin: true,
          headers: { origin: 'http://127.0.0.1:8081' },
        },
      },
    },
    build: {
      target: 'es2022',
      // One style sheet. The sheet of a lazy part could fail to load, and a second try would not load it again.
      cssCodeSplit: false,
      // The content security policy allows neither inlined assets nor inlined scripts.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      license: { fileName: 'LICENSES.md' },
      reportCompressedSize: false,
    },
  };
});
