import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip as gzipWithCallback } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

const brotli = promisify(brotliCompress);
const gzip = promisify<Buffer, object, Buffer>(gzipWithCallback);
/** The default, 11, takes much longer and saves few bytes (docs/decisions/0027-start.md). */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 10 } };

/** Writes a compressed copy beside each script and style sheet, which the service sends to browsers that accept it. */
const compressed: Plugin = {
  name: 'compressed',
  apply: 'build',
  async writeBundle({ dir = '' }) {
    const assets = join(dir, 'assets');
    const names = readdirSync(assets).filter((name) => /\.(js|css)$/.test(name));
    const compress = async (name: string) => {
      const content = readFileSync(join(assets, name));
      writeFileSync(join(assets, `${name}.br`), await brotli(content, BROTLI));
      writeFileSync(join(assets, `${name}.gz`), await gzip(content, { level: 9 }));
    };
    // In threads, so that the start of a fresh clone uses all cores.
    await Promise.all(names.map(compress));
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
      // One script for the first load, whose requests would delay each other on a slow connection.
      rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'index', tags: ['$initial'] }] } } },
      license: { fileName: 'LICENSES.md' },
      reportCompressedSize: false,
    },
  };
});
