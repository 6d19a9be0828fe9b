import { defineConfig } from 'vite';

export default defineConfig({
  root: import.meta.dirname,
  // Relative URLs, because a proxy may serve the console below a prefix.
  base: './',
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
    // The content security policy allows neither inlined assets nor inlined scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: 'LICENSES.md' },
    reportCompressedSize: false,
  },
});
