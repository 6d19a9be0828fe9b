/** The addresses to which webhooks may be sent. */
import type { lookup } from 'node:dns';
import { expect, it } from 'vitest';
import { isAllowed } from '../../src/features/webhooks/addresses.ts';
import type { Message } from '../../src/features/webhooks/messages.ts';
import { Receiver } from '../../src/features/webhooks/receiver.ts';
import type { DeliveredWebhook } from '../../src/features/webhooks/webhooks.ts';
import { startReceiver } from './test-receiver.ts';

it.each([
  ['8.8.8.8', true],
  ['2606:4700::1111', true],
  ['127.0.0.1', false],
  ['10.1.2.3', false],
  ['172.16.0.1', false],
  ['192.168.0.1', false],
  ['100.64.0.1', false],
  ['169.254.169.254', false],
  ['0.0.0.0', false],
  ['224.0.0.1', false],
  ['255.255.255.255', false],
  ['::', false],
  ['::1', false],
  ['::ffff:127.0.0.1', false],
  ['::ffff:8.8.8.8', true],
  ['::127.0.0.1', false],
  ['64:ff9b::7f00:1', false],
  ['2002:7f00:1::', false],
  ['fe80::1', false],
  ['fd00:ec2::254', false],
  ['ff02::1', false],
])('allows only public addresses: %s', (address, expected) => {
  expect(isAllowed(address, { allowed: [], isPublicAllowed: true })).toBe(expected);
  expect(isAllowed(address, { allowed: [], isPublicAllowed: false })).toBe(false);
});

it('allows private addresses in the given networks', () => {
  const rules = { allowed: ['10.0.0.0/8', 'fd00::/8', '192.168.0.1'], isPublicAllowed: false };
  const allowed = ['10.1.2.3', '::ffff:10.1.2.3', 'fd00::1', '192.168.0.1'];
  expect(allowed.every((address) => isAllowed(address, rules))).toBe(true);
  const others = ['192.168.0.2', '127.0.0.1', 'fe80::1', '8.8.8.8'];
  expect(others.some((address) => isAllowed(address, rules))).toBe(false);
});

const message: Message = {
  id: 'msg_1',
  tenant: null,
  payload: { type: 'webhook.test', timestamp: '2026-11-29T12:00:00Z', data: {} },
  cursor: '',
};

/** Sends a message to a URL whose host resolves to addresses. */
async function sendTo(url: string, addresses: string[], allowed: string[] = []) {
  const webhook = { url, secret: 'whsec_c2VjcmV0', previousSecret: null } as DeliveredWebhook;
  const resolve = ((_host: string, _options: object, callback: (...result: unknown[]) => void) =>
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )) as unknown as typeof lookup;
  const receiver = new Receiver(webhook, { allowed, lookup: resolve });
  const { status, error } = await receiver.send(message, new AbortController().signal);
  receiver.close();
  return { status, error };
}

const NOT_ALLOWED = { status: null, error: 'address_not_allowed' };

it('rejects a name that resolves to a private address, also beside a public one', async () => {
  const { url, messages } = await startReceiver();
  const { port } = new URL(url);
  for (const scheme of ['http', 'https']) {
    expect(await sendTo(`${scheme}://example.com:${port}`, ['127.0.0.1'])).toStrictEqual(NOT_ALLOWED);
    expect(await sendTo(`${scheme}://example.com:${port}`, ['8.8.8.8', '127.0.0.1'])).toStrictEqual(
      NOT_ALLOWED,
    );
  }
  expect(messages).toStrictEqual([]);
});

it('rejects plain HTTP to a public address', async () => {
  expect(await sendTo('http://example.com', ['8.8.8.8'])).toStrictEqual(NOT_ALLOWED);
});

it.each(['127.0.0.1', '2130706433', '0x7f.1', '[::1]', '[::ffff:127.0.0.1]'])(
  'rejects the address %s in a URL',
  async (host) => {
    expect(await sendTo(`https://${host}`, [])).toStrictEqual(NOT_ALLOWED);
  },
);

it('sends to the allowed address that a name resolves to', async () => {
  const { url, messages } = await startReceiver();
  const { port } = new URL(url);
  expect(await sendTo(`http://example.com:${port}/hook`, ['127.0.0.1'], ['127.0.0.1'])).toStrictEqual({
    status: 204,
    error: null,
  });
  expect(messages[0]?.headers.host).toBe(`example.com:${port}`);
});

it('reads only the beginning of a response', async () => {
  const { url } = await startReceiver((response) => {
    response.writeHead(200);
    const write = () =>
      response.destroyed ||
      (response.write('x'.repeat(65_536)) ? setImmediate(write) : response.once('drain', write));
    write();
  });
  expect(await sendTo(url, [], ['127.0.0.1'])).toStrictEqual({ status: 200, error: null });
});
