import { fileURLToPath } from 'node:url';
import { defineConfig } from 'rolldown';

/** Bundles the client into one file, because the package must install without its workspace. */
export default defineConfig({
  input: 'src/cli.ts',
  platform: 'node',
  external: /^@modelcontextprotocol\/server(\/|$)/,
  resolve: {
    alias: { 'memory-service-client': fileURLToPath(new URL('../typescript/src/index.ts', import.meta.url)) },
  },
  output: { file: 'dist/cli.js', format: 'esm', cleanDir: true },
});
