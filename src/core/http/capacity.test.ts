import type { FastifyReply, FastifyRequest } from 'fastify';
import { expect, it } from 'vitest';
import { cmd } from '../../../test/support/step-table.ts';
import { countLongCalls, resultBytes } from '../agents/result-bounds.ts';
import { loadConfig } from '../config.ts';
import { Capacity, InFlightRequest, REQUEST_BYTES } from './capacity.ts';

const config = loadConfig({
  MAX_IN_FLIGHT_BYTES: '400000',
  MAX_IN_FLIGHT_PER_TENANT: '2',
  MAX_QUEUE_MS: '1',
});

function createRequest(capacity: Capacity, tenant: string) {
  const onClose: FastifyRequest['onClose'] = [];
  const reply = { raw: { destroyed: false } } as FastifyReply;
  const inFlight = new InFlightRequest(capacity, tenant, { onClose } as FastifyRequest, reply);
  inFlight.bytes.acquire(REQUEST_BYTES);
  return {
    inFlight,
    close: () => {
      for (const each of onClose) each();
    },
  };
}

function responseBytes(capacity: Capacity): number {
  const { inFlight, slots } = capacity.bytes.current;
  return inFlight - slots * REQUEST_BYTES;
}

it("rejects a request if its response would exceed the tenant's share, and admits other tenants", async () => {
  const capacity = new Capacity(config);
  const first = createRequest(capacity, 'a');
  await first.inFlight.takeSlot(60_000);
  await expect(createRequest(capacity, 'a').inFlight.takeSlot(20_000)).rejects.toMatchObject({
    code: 'too_many_at_once',
  });
  await createRequest(capacity, 'b').inFlight.takeSlot(60_000);
  expect(responseBytes(capacity)).toBe(120_000);
  first.close();
  expect(responseBytes(capacity)).toBe(60_000);
});

it("counts a response's actual size until its connection is closed", async () => {
  const capacity = new Capacity(config);
  const { inFlight, close } = createRequest(capacity, 'a');
  await inFlight.takeSlot(60_000);
  inFlight.countResponse(100);
  expect([responseBytes(capacity), capacity.requests.current.inFlight]).toStrictEqual([100, 0]);
  close();
  expect(responseBytes(capacity)).toBe(0);
});

it("releases a request's slot and first reservation while it waits for a larger reservation", async () => {
  const capacity = new Capacity({ ...config, MAX_QUEUE_MS: 60_000 });
  const [one, other] = [createRequest(capacity, 'a'), createRequest(capacity, 'a')];
  await one.inFlight.takeSlot(30_000);
  await other.inFlight.takeSlot(30_000);
  const more = one.inFlight.reserveResponse(50_000);
  expect([responseBytes(capacity), capacity.requests.current.inFlight]).toStrictEqual([30_000, 1]);
  other.close();
  await more;
  expect([responseBytes(capacity), capacity.requests.current.inFlight]).toStrictEqual([50_000, 1]);
});

it("reserves at most the tenant's share for a response, so that a longer response is still served", async () => {
  const capacity = new Capacity(config);
  await createRequest(capacity, 'a').inFlight.takeSlot(1_000_000);
  expect(responseBytes(capacity)).toBe(100_000);
});

it("estimates the size of calls' results before the calls run", () => {
  const limits = { maxFileBytes: 1000, maxViewChars: 100 };
  expect([0, 1, 32].map((calls) => resultBytes(calls, limits))).toStrictEqual([0, 600, 3000]);
  const block = (input: object) => ({ type: 'tool_use', id: 'toolu_1', name: 'memory', input });
  const create = cmd.create('/memories/a', 'x');
  const view = cmd.view('/memories/a');
  expect(
    [create, view, block(create), block(view), [block(create), block(view)]].map(countLongCalls),
  ).toStrictEqual([0, 1, 0, 1, 1]);
  // The input in the body is executed, so the nested `input` must be ignored.
  expect(countLongCalls({ ...view, input: create })).toBe(1);
});
