import fp from 'fastify-plugin';
import { jsonInSlices } from '../util/json-slices.ts';

/**
 * Encodes responses in time slices: what an administrator reads or changes at once may have many files, and large contents. Register it after
 * other hooks that read the data of a response.
 */
export const responseJson = fp(
  async (app) => {
    app.addHook('preSerialization', (_request, _reply, data) => jsonInSlices(data));
    // Fastify sends a buffer as it is, and only its types require a text.
    app.setSerializerCompiler(() => (encoded) => encoded as string);
  },
  { name: 'response-json', dependencies: ['admin-concurrency-limit'] },
);
