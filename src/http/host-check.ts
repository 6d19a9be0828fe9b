import fp from 'fastify-plugin';
import { type Config, isLoopback } from '../config.ts';
import { ServiceError } from '../errors.ts';

/** What nearly every client of a local service sends; any other host is parsed. */
const USUAL_HOST = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::[1-5]?\d{1,4})?$/;

/**
 * Rejects requests that a web page makes the user's browser send (DNS rebinding). Without authentication, only the loopback address
 * protects the memory, and a page can point a host name of its own to that address.
 *
 * @param options.onlyOwnPages rejects the pages of other servers on this machine too
 */
export const hostCheck = fp<{
  config: Pick<Config, 'AUTH' | 'HOST' | 'ALLOW_UNAUTHENTICATED'>;
  onlyOwnPages?: boolean;
}>(
  async (app, { config: { AUTH, HOST, ALLOW_UNAUTHENTICATED }, onlyOwnPages = false }) => {
    if (AUTH !== 'none' || ALLOW_UNAUTHENTICATED || !isLoopback(HOST)) return;
    app.addHook('onRequest', ({ headers: { host, origin } }, _reply, done) => {
      // Browsers always send Host.
      if (host !== undefined && !USUAL_HOST.test(host) && !isLoopbackUrl(`http://${host}`))
        return done(new ServiceError('host_not_allowed', 'Host'));
      if (origin !== undefined && !isLoopbackUrl(origin))
        return done(new ServiceError('host_not_allowed', 'Origin'));
      if (origin !== undefined && onlyOwnPages && new URL(origin).host !== host?.toLowerCase())
        return done(new ServiceError('host_not_allowed', 'another server'));
      done();
    });
  },
  { name: 'host-check' },
);

function isLoopbackUrl(url: string): boolean {
  return URL.canParse(url) && isLoopback(new URL(url).hostname.replace(/^\[(.*)\]$/, '$1'));
}
