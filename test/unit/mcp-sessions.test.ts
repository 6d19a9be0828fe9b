import { MemoryClient } from 'memory-service-client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Session, Sessions } from '../../clients/mcp/src/sessions.ts';

const client = new MemoryClient({ url: 'http://memory.test' });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('a session', () => {
  /** Runs requests with these ids, and returns the ids in the order in which they start. */
  function recorder(session: Session) {
    const started: number[] = [];
    const run = (id: number) =>
      session.run(
        Promise.resolve(id),
        () => id,
        async () => void started.push(id),
      );
    return { started, run };
  }

  it('starts a request when those before it have ended, however they ended', async () => {
    const session = new Session(client, 0);
    const { started, run } = recorder(session);
    const failing = session.run(
      Promise.resolve(0),
      () => 0,
      async () => Promise.reject(new Error('failed')),
    );
    const rest = [run(2), run(1)];
    await expect(failing).rejects.toThrow('failed');
    await Promise.all(rest);
    expect(started).toStrictEqual([1, 2]);
    expect(session.isIdle).toBe(true);
  });

  it('goes on when the body of a request cannot be read', async () => {
    const session = new Session(client);
    const { started, run } = recorder(session);
    const aborted = session.run(
      Promise.reject(new Error('aborted')),
      () => 0,
      async () => {},
    );
    const next = run(1);
    await expect(aborted).rejects.toThrow('aborted');
    await next;
    expect(started).toStrictEqual([1]);
  });

  it('stops waiting for ids that never come', async () => {
    const session = new Session(client, 0);
    const { started, run } = recorder(session);
    for (const id of [1, 3, 5]) {
      const running = run(id);
      await vi.advanceTimersByTimeAsync(499);
      expect(started).not.toContain(id);
      await vi.advanceTimersByTimeAsync(1);
      await running;
    }
    await run(7);
    expect(started).toStrictEqual([1, 3, 5, 7]);
  });

  it('runs a message without an id at once', async () => {
    const session = new Session(client, 0);
    const { started, run } = recorder(session);
    const waiting = run(1);
    const told: string[] = [];
    await session.run(
      Promise.resolve('cancelled'),
      () => undefined,
      async (message) => void told.push(message),
    );
    expect([told, started]).toStrictEqual([['cancelled'], []]);
    await vi.runAllTimersAsync();
    await waiting;
  });
});

describe('sessions', () => {
  it('have a client each', () => {
    const sessions = new Sessions();
    const create = vi.fn(() => new MemoryClient({ url: 'http://memory.test' }));
    const first = sessions.open('a', create);
    expect(sessions.open('a', create)).toBe(first);
    expect(sessions.open('b', create).client).not.toBe(first.client);
    expect(create).toHaveBeenCalledTimes(2);
  });

  it('that were seen longest ago are forgotten, but not while a request runs', async () => {
    const sessions = new Sessions();
    const open = (key: string | number) => sessions.open(String(key), () => client);
    const busy = open('busy');
    const idle = open('idle');
    let end = () => {};
    const running = busy.run(
      Promise.resolve(0),
      () => 0,
      () =>
        new Promise<void>((resolve) => {
          end = resolve;
        }),
    );
    await vi.runAllTimersAsync();
    for (let i = 0; i < 1000; i++) open(i);
    expect(open('busy')).toBe(busy);
    expect(open('idle')).not.toBe(idle);
    end();
    await running;
  });
});
