import type { FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';

const HOST = /^[\w.-]+(:\d+)?$|^\[[\da-f:.]+\](:\d+)?$/i;

/** Where callers reach the service: as configured, or as the request names it. Undefined when that is no name. */
export function publicUrlOf(
  { protocol, host }: FastifyRequest,
  { PUBLIC_URL }: Pick<Config, 'PUBLIC_URL'>,
): string | undefined {
  if (PUBLIC_URL !== undefined) return PUBLIC_URL;
  return HOST.test(host) ? `${protocol}://${host}` : undefined;
}
