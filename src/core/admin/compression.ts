import compress from '@fastify/compress';
import fp from 'fastify-plugin';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the operation determines the bytes in the response: a file's text, or an archive. */
    encodesBytes?: boolean;
  }
}

/** Size from which a response is compressed in a thread. Below it, the event loop is busy for less than 1 ms. */
const SYNC_BYTES = 16 * 1024;

/**
 * Compresses JSON responses to reads for clients that accept it. Not compressed are:
 * - responses to changes, the only ones that contain a key: a compressed response's size tells about its content
 * - streams of JSON lines, whose progress would arrive late
 * - texts of files, whose `ETag` identifies the bytes, and archives
 *
 * A page from another site cannot read other responses' sizes: it has neither the key nor the header that a session in
 * a cookie needs. Compressed requests are rejected as before, because a small one can become a huge one.
 */
export const compression = fp(
  async (app) => {
    app.addHook('onRoute', (route) => {
      if (route.method !== 'GET' || route.config?.encodesBytes) route.compress = false;
    });
    await app.register(compress, {
      encodings: ['gzip'],
      customTypes: /^application\/json(?:;|$)/,
      syncThreshold: SYNC_BYTES,
      globalDecompression: false,
    });
  },
  { name: 'compression' },
);
