import type { lookup as resolve } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/*
 * The addresses to which webhooks may be sent. A name is checked when a connection is opened, by the addresses that the
 * connection then uses, so a name that later resolves to a private address is rejected too.
 */

/** Global unicast addresses (RFC 4291). Other IPv6 addresses may contain a private IPv4 address. */
const GLOBAL_IPV6 = ipaddr.parseCIDR('2000::/3');

export class AddressNotAllowed extends Error {
  readonly code = 'address_not_allowed';
}

export interface AddressRules {
  /** Networks that are allowed besides the public addresses. */
  allowed: readonly string[];
  /** Whether public addresses are allowed. */
  isPublicAllowed: boolean;
}

export function isAllowed(address: string, { allowed, isPublicAllowed }: AddressRules): boolean {
  const parsed = ipaddr.process(address);
  const isInside = (network: string) => {
    const [start, bits] = parseNetwork(network);
    return start.kind() === parsed.kind() && parsed.match(start, bits);
  };
  if (allowed.some(isInside)) return true;
  if (!isPublicAllowed || parsed.range() !== 'unicast') return false;
  return parsed.kind() === 'ipv4' || parsed.match(GLOBAL_IPV6);
}

function parseNetwork(network: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  if (network.includes('/')) return ipaddr.parseCIDR(network);
  const address = ipaddr.parse(network);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

/**
 * Checks a host that is an IP address, for which a connection resolves no name.
 *
 * @param host as in `URL.hostname`
 * @throws AddressNotAllowed
 */
export function requireAllowedHost(host: string, rules: AddressRules): void {
  const address = host.replace(/^\[|\]$/g, '');
  if (isIP(address) !== 0 && !isAllowed(address, rules)) throw new AddressNotAllowed();
}

/** Returns a function that resolves a connection's host, and fails if one of the addresses is not allowed. */
export function guardedLookup(rules: AddressRules, lookup: typeof resolve): LookupFunction {
  return (host, options, callback) => {
    lookup(host, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error !== null || first === undefined) return callback(error ?? new Error('no address'), '');
      if (!addresses.every(({ address }) => isAllowed(address, rules)))
        return callback(new AddressNotAllowed(), '');
      return options.all ? callback(null, addresses) : callback(null, first.address, first.family);
    });
  };
}
