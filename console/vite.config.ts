import { defineConfig } from 'vite';

export default defineConfig({
  root: import.meta.dirname,
  // Relative addresses, so that the page also works below the prefix of a proxy.
  base: './',
  // `npm run dev` beside a service with ADMIN_PORT=8081, which takes requests of its own pages only.
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
    // The content security policy allows neither inlined assets nor inlined scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: 'LICENSES.md' },
    reportCompressedSize: false,
  },
});
