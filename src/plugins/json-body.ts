import { isUtf8 } from 'node:buffer';
import fp from 'fastify-plugin';
import { ServiceError } from '../errors.ts';
import { TurnQueue } from '../util/turn-queue.ts';
import { excessOf, tooComplex } from './json-limits.ts';

/** In bytes. Parsing a larger body takes long enough for others to notice, when many come at once. */
const LARGE_BODY_BYTES = 64 * 1024;

/**
 * Accepts JSON bodies only, and only well-formed UTF-8: the default parser would put U+FFFD in the place of broken
 * bytes, that is change what is stored without a word.
 */
export const jsonBody = fp(
  async (app) => {
    // Keys called `__proto__` or `constructor` are fields that no command knows, so they are ignored like all such: parsed they are
    // plain properties. To look for them in the text took nearly as long as to parse it.
    const parseJson = app.getDefaultJsonParser('ignore', 'ignore');
    const largeBodies = new TurnQueue();
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
      const encoding = request.headers['content-encoding'];
      if (encoding !== undefined && encoding !== 'identity') {
        return done(new ServiceError('unsupported_content_encoding'));
      }
      const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(request.headers['content-type'] ?? '')?.[1];
      if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
        return done(new ServiceError('unsupported_charset'));
      }
      if (!isUtf8(body as Buffer)) {
        return done(new ServiceError('invalid_utf8'));
      }
      const parse = () => {
        const text = body.toString('utf8');
        const excess = excessOf(text);
        if (excess !== undefined) return done(tooComplex(excess));
        parseJson(request, text, done);
      };
      if (body.length <= LARGE_BODY_BYTES) return parse();
      // It has arrived: waiting for its turn does not count as a slow body.
      request.inFlight?.endTimeLimit();
      largeBodies.add(parse);
    });
  },
  { name: 'json-body' },
);
