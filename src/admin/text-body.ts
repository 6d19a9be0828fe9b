import fp from 'fastify-plugin';
import { utf8Problem } from '../http/utf8-body.ts';

/** Lets the routes of a scope take text, and nothing else: UTF-8, byte for byte. */
export const textBody = fp(
  async (app) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('text/plain', { parseAs: 'buffer' }, (request, body, done) => {
      const problem = utf8Problem(request.headers, body as Buffer);
      if (problem !== undefined) done(problem);
      else done(null, body.toString('utf8'));
    });
  },
  { name: 'text-body' },
);
