import type { Row } from '../fault-report.ts';
import { Endpoint } from './endpoint.ts';
import type { Killer } from './killer.ts';
import type { Delay, Reader } from './reader.ts';
import { StreamReader } from './stream-reader.ts';
import type { Write } from './writers.ts';

interface Run {
  readers: readonly Reader[];
  fleet: Reader;
  writes: ReadonlyMap<string, Write>;
  killer: Killer;
}

/** Adds the delays from changes to their arrival, without and with kills, to the notes. */
export function reportDelays({ readers, fleet, writes, killer }: Run, row: Row): void {
  const report = (title: string, delays: readonly Delay[]) => {
    const undisturbed = delays.filter(({ at, ms }) => !killer.hasOutage(at, at + ms));
    row.notes.push(`${title}: ${percentiles(undisturbed)}, with kills: ${percentiles(delays)}`);
  };
  const delaysTo = (kind: typeof StreamReader | typeof Endpoint, isFleet: boolean) =>
    readers
      .filter((reader) => reader instanceof kind && reader.isFleet === isFleet)
      .flatMap(({ delays }) => delays);
  const [same, other]: [Delay[], Delay[]] = [[], []];
  for (const each of delaysTo(StreamReader, false)) {
    const writer = writes.get(each.toolUse ?? '')?.replica;
    if (writer !== undefined) (writer === each.replica ? same : other).push(each);
  }
  report('stream, same replica', same);
  report('stream, other replica', other);
  report('stream of all tenants', delaysTo(StreamReader, true));
  report('list of all tenants', fleet.delays);
  report('webhook', delaysTo(Endpoint, false));
  report('webhook of all tenants', delaysTo(Endpoint, true));
}

/** Formats the median and the 99th percentile. */
function percentiles(delays: readonly Delay[]): string {
  const sorted = delays.map(({ ms }) => ms).sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`;
}
