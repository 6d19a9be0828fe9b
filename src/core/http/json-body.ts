import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import fp from 'fastify-plugin';
import { ServiceError } from '../errors/errors.ts';
import { TurnQueue } from '../lib/queues.ts';
import { exceededJsonLimit, parseBlocks, tooComplex } from './json-limits.ts';

/** Returns the error for a body that is compressed or not UTF-8, or undefined for a valid body. */
export function utf8Problem(headers: IncomingHttpHeaders, body: Buffer): ServiceError | undefined {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    return new ServiceError('unsupported_content_encoding');
  }
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) return new ServiceError('unsupported_charset');
  return isUtf8(body) ? undefined : new ServiceError('invalid_utf8');
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route has no request body. An empty body is then accepted with any `Content-Type`. */
    hasNoBody?: boolean;
    /**
     * Whether the body may contain `tool_use` blocks. A block that exceeds a JSON limit then fails alone, and the
     * request does not.
     */
    takesBlocks?: boolean;
  }
}

/**
 * Larger bodies are checked and parsed one at a time, because many large bodies at the same time would delay other
 * requests. The check and the parsing are separate steps for the same reason.
 */
const LARGE_BODY_BYTES = 64 * 1024;

/**
 * Accepts only JSON bodies in well-formed UTF-8. The default parser replaces invalid bytes with U+FFFD, which would
 * silently change the stored text.
 */
export const jsonBody = fp(
  async (app) => {
    // `JSON.parse` creates `__proto__` and `constructor` as plain properties, and commands ignore unknown fields. A
    // search for both names would take nearly as long as parsing.
    const parseJson = app.getDefaultJsonParser('ignore', 'ignore');
    const largeBodies = new TurnQueue();
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
      // Some clients send a content type without a body.
      if (body.length === 0 && request.routeOptions.config.hasNoBody) return done(null, undefined);
      const problem = utf8Problem(request.headers, body as Buffer);
      if (problem !== undefined) return done(problem);
      const read = (next: (parse: () => void) => void) => {
        const text = body.toString('utf8');
        const excess = exceededJsonLimit(text);
        next(() => {
          if (excess === undefined) return parseJson(request, text, done);
          const blocks = request.routeOptions.config.takesBlocks ? parseBlocks(text) : undefined;
          if (blocks === undefined) return done(tooComplex(excess));
          done(null, blocks);
        });
      };
      if (body.length <= LARGE_BODY_BYTES) return read((parse) => parse());
      largeBodies.add(() => read((parse) => largeBodies.add(parse)));
    });
  },
  { name: 'json-body' },
);
