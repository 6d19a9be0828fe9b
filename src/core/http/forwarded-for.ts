import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import fp from 'fastify-plugin';

/**
 * Reduces `X-Forwarded-For` to addresses before the client's address is determined. Some proxies add ports or the
 * `Forwarded` form (RFC 7239), and a client that is counted by address and port is not limited at all.
 */
export const forwardedFor = fp(async (app) => {
  app.addHook('onRequest', ({ raw: { headers } }, _reply, done) => {
    if (headers['x-forwarded-for'] !== undefined) headers['x-forwarded-for'] = forwardedAddresses(headers);
    done();
  });
});

/**
 * Returns the addresses in the header from the right, which proxies add last, up to an entry without an address. An
 * `unknown` client has the address of the proxy that reported it.
 */
export function forwardedAddresses({ 'x-forwarded-for': header = '' }: IncomingMessage['headers']): string {
  const entries = [header].flat().join(',').split(',');
  const addresses = entries.map((entry) => parseAddress(entry));
  return addresses.slice(addresses.lastIndexOf(undefined) + 1).join(', ');
}

/** Returns the address in `1.2.3.4`, `1.2.3.4:80`, `[::1]:80`, and `for="[::1]:80"`. Undefined without an address. */
function parseAddress(entry: string): string | undefined {
  const element = entry.split(';').find((each) => /^\s*for=/i.test(each)) ?? entry;
  const node = element
    .replace(/^\s*for=/i, '')
    .replaceAll('"', '')
    .trim();
  const [, bracketed] = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(node) ?? [];
  const [, unmapped] = /^(?:::ffff:)?(\d+\.\d+\.\d+\.\d+)(?::\d{1,5})?$/i.exec(bracketed ?? node) ?? [];
  const address = (unmapped ?? bracketed ?? node).toLowerCase();
  return isIP(address) === 0 || address.includes('%') ? undefined : address;
}
