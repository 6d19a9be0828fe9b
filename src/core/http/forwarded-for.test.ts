import { describe, expect, it } from 'vitest';
import { forwardedAddresses } from './forwarded-for.ts';

describe('addressesOf', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7'],
    ['203.0.113.7:51234', '203.0.113.7'],
    [' 198.51.100.1 ,\t203.0.113.7:1', '198.51.100.1, 203.0.113.7'],
    ['2001:DB8::1', '2001:db8::1'],
    ['[2001:db8::1]:443', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['[::ffff:203.0.113.7]:80', '203.0.113.7'],
    ['for=1.2.3.4', '1.2.3.4'],
    ['For="[2001:db8::1]:4711";proto=https;by=10.0.0.1', '2001:db8::1'],
    ['proto=https;for=1.2.3.4:99', '1.2.3.4'],
    ['198.51.100.1, unknown, 203.0.113.7', '203.0.113.7'],
    ['198.51.100.1, for=_hidden', ''],
    ['unknown', ''],
    ['', ''],
    ['1.2.3.4:', ''],
    ['1.2.3.999', ''],
    ['1.2.3.4, ', ''],
  ])('reads the addresses in %j', (header, expected) => {
    expect(forwardedAddresses({ 'x-forwarded-for': header })).toBe(expected);
  });
});
