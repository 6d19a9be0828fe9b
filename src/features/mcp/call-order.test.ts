import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Access, CallOrder, requestAccess } from './call-order.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const write = (...paths: string[]): Access => ({ paths, isWrite: true });
const read = (...paths: string[]): Access => ({ paths, isWrite: false });

/** Starts requests from one caller, which arrive in call order, and records their starts. */
function recorder(order = new CallOrder()) {
  const started: string[] = [];
  const arrive = (name: string, caller = 'a') => {
    const arrival = order.arrive(caller);
    return {
      start: (access: Access) => void arrival.start(access).then(() => started.push(name)),
      end: () => arrival.end(),
    };
  };
  return { started, arrive };
}

describe("one caller's calls", () => {
  it("runs one caller's calls in arrival order if they need the same file", async () => {
    const { started, arrive } = recorder();
    const [create, edit, view] = ['create', 'edit', 'view'].map((name) => arrive(name));
    view?.start(read('/memories/a'));
    edit?.start(write('/memories/a'));
    create?.start(write('/memories/a'));
    await vi.advanceTimersByTimeAsync(0);
    expect(started).toStrictEqual(['create']);
    create?.end();
    await vi.advanceTimersByTimeAsync(0);
    expect(started).toStrictEqual(['create', 'edit']);
    edit?.end();
    await vi.advanceTimersByTimeAsync(0);
    expect(started).toStrictEqual(['create', 'edit', 'view']);
  });

  it.each([
    ['a directory above the file', write('/memories/a/b'), read('/memories/a')],
    ['a file below the directory', write('/memories/a'), write('/memories/a/b')],
    ['one of two paths', write('/memories/x', '/memories/a'), read('/memories/a')],
  ])('starts a call only after an earlier call has written %s', async (_, first, second) => {
    const { started, arrive } = recorder();
    const [earlier, later] = [arrive('first'), arrive('second')];
    earlier.start(first);
    later.start(second);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(started).toStrictEqual(['first']);
    earlier.end();
    await vi.advanceTimersByTimeAsync(0);
    expect(started).toStrictEqual(['first', 'second']);
  });

  it.each([
    ['read one file', read('/memories/a'), read('/memories/a')],
    ['need different files', write('/memories/a'), write('/memories/ab')],
    ['need no file', write('/memories/a'), read()],
  ])("runs one caller's calls at the same time if they %s", async (_, first, second) => {
    const { started, arrive } = recorder();
    const [earlier, later] = [arrive('first'), arrive('second')];
    earlier.start(first);
    later.start(second);
    await vi.advanceTimersByTimeAsync(0);
    expect(started).toStrictEqual(['first', 'second']);
  });

  it('waits at most a second for an earlier request whose body is still being read', async () => {
    const { started, arrive } = recorder();
    const slow = arrive('slow');
    arrive('view').start(read('/memories/a'));
    await vi.advanceTimersByTimeAsync(999);
    expect(started).toStrictEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(started).toStrictEqual(['view']);
    slow.end();
  });

  it('starts a call if an earlier request ends before its body was read', async () => {
    const { started, arrive } = recorder();
    const gone = arrive('gone');
    arrive('view').start(read('/memories/a'));
    gone.end();
    gone.end();
    await vi.advanceTimersByTimeAsync(0);
    expect(started).toStrictEqual(['view']);
  });

  it("runs two callers' calls at the same time, even on the same file", async () => {
    const { started, arrive } = recorder();
    arrive('first', 'a').start(write('/memories/a'));
    arrive('second', 'b').start(write('/memories/a'));
    await vi.advanceTimersByTimeAsync(0);
    expect(started).toStrictEqual(['first', 'second']);
  });
});

const call = (input: unknown, name = 'memory') => ({
  method: 'tools/call',
  params: { name, arguments: input },
});

it.each([
  [call({ command: 'view', path: '/memories/a//b/' }), read('/memories/a/b')],
  [call({ command: 'create', path: '/memories/a', file_text: '' }), write('/memories/a')],
  [
    call({ command: 'rename', old_path: '/memories/a', new_path: '/memories/b' }),
    write('/memories/a', '/memories/b'),
  ],
  [call({ query: 'x' }, 'memory_search'), read('/memories')],
  [call({ command: 'create', path: '/etc/passwd' }), write()],
  [call(null), read()],
  [{ method: 'resources/read', params: { uri: 'memory:///memories/%C3%A9.md' } }, read('/memories/é.md')],
  [{ method: 'resources/read', params: { uri: 'memory:///context' } }, read('/memories')],
  [{ method: 'resources/list' }, read('/memories')],
  [{ method: 'prompts/get', params: { name: 'memory-context' } }, read('/memories')],
  [{ method: 'tools/list' }, read()],
  [
    [call({ command: 'view', path: '/memories/a' }), call({ command: 'delete', path: '/memories/b' })],
    write('/memories/a', '/memories/b'),
  ],
  [5, read()],
])('finds which files the message %o reads or writes', (body, access) => {
  expect(requestAccess(body)).toStrictEqual(access);
});
