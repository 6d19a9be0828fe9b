import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { Deadlines } from './deadlines.ts';
import { ShortLivedMap } from './queues.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void;

const LIVE = 32;
const STEPS = 3000;
const PAYLOAD_BYTES = 8 * 1024;

/**
 * Calls `step` `STEPS` times, each time with a new payload. Returns by how many bytes the old generation has grown
 * since a full collection near the start.
 */
function retainedBy(step: (payload: number[], i: number) => void): number {
  let before = 0;
  for (let i = 0; i < STEPS; i++) {
    step(new Array<number>(PAYLOAD_BYTES / 8).fill(i + 0.5), i);
    if (i === 2 * LIVE) {
      collect();
      before = oldBytes();
    } else if (i % 50 === 0) collect({ type: 'minor' });
  }
  return oldBytes() - before;
}

function oldBytes(): number {
  const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space');
  return space?.space_used_size ?? Number.NaN;
}

/** Maximum growth caused by live entries and by other work in the process. All payloads together have 24 MB. */
const MAX_RETAINED = 4 * 1024 * 1024;

describe('objects after a request has ended', () => {
  it("frees a request's objects in a minor garbage collection after the deadlines are cleared", () => {
    const deadlines = new Deadlines();
    const live: ReturnType<Deadlines['start']>[] = [];
    const retained = retainedBy((payload) => {
      live.push(deadlines.start(60_000, () => payload));
      if (live.length > LIVE) for (const ended of live.splice(0, 1)) deadlines.clear(ended);
    });
    expect(retained).toBeLessThan(MAX_RETAINED);
  });

  it('frees deleted ShortLivedMap entries in a minor garbage collection', () => {
    const map = new ShortLivedMap<string, number[]>();
    const retained = retainedBy((payload, i) => {
      map.set(`file ${i}`, payload);
      map.delete(`file ${i - LIVE}`);
    });
    expect(retained).toBeLessThan(MAX_RETAINED);
  });
});

describe('Deadlines', () => {
  it('calls expired deadlines even if others were cleared before, in any order', async () => {
    const deadlines = new Deadlines();
    const expired: string[] = [];
    const cleared = deadlines.start(0, () => expired.push('cleared'));
    const late = deadlines.start(60_000, () => expired.push('late'));
    const done = new Promise<void>((resolve) => {
      deadlines.start(0, () => expired.push('first'));
      const other = deadlines.start(0, () => expired.push('cleared by the one before it'));
      deadlines.start(0, () => {
        expired.push('last');
        resolve();
      });
      deadlines.clear(cleared);
      deadlines.clear(cleared);
      deadlines.clear(other);
    });
    await done;
    deadlines.clear(late);
    expect(expired.toSorted()).toEqual(['first', 'last']);
  });
});
