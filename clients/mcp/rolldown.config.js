import { fileURLToPath } from 'node:url';
import { defineConfig } from 'rolldown';

/**
 * Bundles the client into one file, because the package must install without its workspace. The bundle has no JSDoc
 * comments, which would be a fifth of its size.
 */
export default defineConfig({
  input: 'src/cli.ts',
  platform: 'node',
  external: /^@modelcontextprotocol\/server(\/|$)/,
  resolve: {
    alias: { 'memory-service-client': fileURLToPath(new URL('../typescript/src/index.ts', import.meta.url)) },
  },
  output: { file: 'dist/cli.js', format: 'esm', cleanDir: true, comments: { jsdoc: false } },
});
