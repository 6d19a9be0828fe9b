import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import fp from 'fastify-plugin';
import { ServiceError } from '../errors/errors.ts';
import { TurnQueue } from '../lib/queues.ts';
import { exceededJsonLimit, parseBlocks, tooComplex } from './json-limits.ts';

/** Why a body is not text in UTF-8 as it is; undefined when it is. */
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
    /** Whether the route takes no body: an empty one is then none. */
    hasNoBody?: boolean;
    /**
     * Whether the body may be `tool_use` blocks: the limits of JSON then fail the block that exceeds them, and not
     * the request.
     */
    takesBlocks?: boolean;
  }
}

/**
 * In bytes. Larger bodies are parsed one at a time, because parsing many of them at once would delay other requests.
 */
const LARGE_BODY_BYTES = 64 * 1024;

/**
 * Accepts only JSON bodies in well-formed UTF-8. The default parser would replace invalid bytes with U+FFFD, and so
 * silently change what is stored.
 */
export const jsonBody = fp(
  async (app) => {
    // `JSON.parse` makes plain properties of `__proto__` and `constructor`, and commands ignore unknown fields.
    // Searching the text for them would cost nearly as much as parsing it.
    const parseJson = app.getDefaultJsonParser('ignore', 'ignore');
    const largeBodies = new TurnQueue();
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
      // Some clients name the type also of a body that they do not send.
      if (body.length === 0 && request.routeOptions.config.hasNoBody) return done(null, undefined);
      const problem = utf8Problem(request.headers, body as Buffer);
      if (problem !== undefined) return done(problem);
      const parse = () => {
        const text = body.toString('utf8');
        const excess = exceededJsonLimit(text);
        if (excess === undefined) return parseJson(request, text, done);
        const blocks = request.routeOptions.config.takesBlocks ? parseBlocks(text) : undefined;
        if (blocks === undefined) return done(tooComplex(excess));
        done(null, blocks);
      };
      if (body.length <= LARGE_BODY_BYTES) return parse();
      largeBodies.add(parse);
    });
  },
  { name: 'json-body' },
);
