import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { requestOrder, Session, Sessions } from './mcp-sessions.ts';

const gapTimeoutMs = 500;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Runs requests and records their IDs in the order in which they start. */
function recorder(session: Session) {
  const started: (number | undefined)[] = [];
  const run = async (id: number | undefined, work: () => Promise<void> = async () => {}) => {
    const turn = session.arrive();
    try {
      await turn.start(id);
      started.push(id);
      await work();
    } finally {
      turn.end();
    }
  };
  return { started, run };
}

describe('an MCP session', () => {
  it("starts a session's request after all earlier requests have ended, even if one failed", async () => {
    const session = new Session({ gapTimeoutMs, nextId: 0 });
    const { started, run } = recorder(session);
    const failing = run(0, async () => Promise.reject(new Error('failed')));
    const rest = [run(2), run(1)];
    await expect(failing).rejects.toThrow('failed');
    await Promise.all(rest);
    expect(started).toStrictEqual([0, 1, 2]);
    expect(session.isIdle).toBe(true);
  });

  it('continues a session when a request body cannot be read', async () => {
    const session = new Session({ gapTimeoutMs });
    const { started, run } = recorder(session);
    const aborted = session.arrive();
    const next = run(1);
    await vi.runAllTimersAsync();
    expect(started).toStrictEqual([]);
    aborted.end();
    aborted.end();
    await next;
    expect(started).toStrictEqual([1]);
    expect(session.isIdle).toBe(true);
  });

  it('continues a session if a request ends while it waits', async () => {
    const session = new Session({ gapTimeoutMs, nextId: 0 });
    const { started, run } = recorder(session);
    let end = () => {};
    const first = run(
      0,
      () =>
        new Promise<void>((resolve) => {
          end = resolve;
        }),
    );
    const gone = session.arrive();
    const left = gone.start(1);
    const last = run(2);
    await vi.runAllTimersAsync();
    gone.end();
    await left;
    expect(started).toStrictEqual([0]);
    end();
    await vi.runAllTimersAsync();
    await Promise.all([first, last]);
    expect(started).toStrictEqual([0, 2]);
  });

  it('stops waiting for message IDs that never arrive', async () => {
    const session = new Session({ gapTimeoutMs, nextId: 0 });
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

  it('runs a message without an ID immediately, even if other messages wait', async () => {
    const session = new Session({ gapTimeoutMs, nextId: 0 });
    const { started, run } = recorder(session);
    const waiting = run(1);
    await run(undefined);
    expect(started).toStrictEqual([undefined]);
    await vi.runAllTimersAsync();
    await waiting;
  });
});

it.each([
  [{ method: 'tools/call', id: 3 }, 3],
  [{ method: 'tools/call', id: 'three' }, undefined],
  [{ method: 'notifications/initialized' }, undefined],
  [{ result: {}, id: 3 }, undefined],
  [[{ method: 'ping', id: 3 }], undefined],
  [null, undefined],
])('reads the message %o and returns the ID for ordering: %s', (message, place) => {
  expect(requestOrder(message)).toBe(place);
});

describe('MCP sessions', () => {
  it('returns the same session for the same key', () => {
    const sessions = new Sessions({ gapTimeoutMs });
    const first = sessions.open('a');
    expect(sessions.open('a')).toBe(first);
    expect(sessions.open('b')).not.toBe(first);
  });

  it('forgets the session that was idle longest, but never a session with a running request', () => {
    const sessions = new Sessions({ gapTimeoutMs });
    const busy = sessions.open('busy');
    const idle = sessions.open('idle');
    const turn = busy.arrive();
    for (let i = 0; i < 1000; i++) sessions.open(String(i));
    expect(sessions.open('busy')).toBe(busy);
    expect(sessions.open('idle')).not.toBe(idle);
    turn.end();
  });
});
