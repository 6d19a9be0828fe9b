import type { Contestant } from './contestants.ts';
import type { Measured } from './job.ts';
import type { Lean } from './lean.ts';
import { median } from './statistics.ts';
import type { Workload } from './workloads.ts';

export type Id = Contestant['id'];

export interface Round extends Measured {
  /** CPU time per request in the contestant's process, in microseconds. Machine noise hardly affects it. */
  processor: number;
  /** Number of measurements. A turn is repeated when the hypervisor disturbed it. */
  attempts: number;
}

/** A contestant's medians over the rounds in a workload, and the rounds themselves. */
export interface Cell extends Round {
  workload: Workload;
  id: Id;
  rounds: Round[];
}

export interface Results {
  date: string;
  machine: string;
  postgres: string;
  /** Delays that the run added, and the times that they cause. */
  delays: string;
  settings: Record<string, string | number>;
  contestants: { id: Id; name: string; keptEdits?: string }[];
  cells: Cell[];
  targets: Target[];
  lean: Lean | undefined;
}

export interface Target {
  name: string;
  aim: string;
  reached: number;
  met: boolean;
}

export function summarizeRounds(workload: Workload, id: Id, rounds: Round[]): Cell {
  const roundValues = (key: keyof Round) => rounds.map((round) => round[key]);
  return {
    workload,
    id,
    rate: median(roundValues('rate')),
    p50: median(roundValues('p50')),
    p99: median(roundValues('p99')),
    p999: median(roundValues('p999')),
    max: Math.max(...roundValues('max')),
    processor: median(roundValues('processor')),
    attempts: roundValues('attempts').reduce((sum, n) => sum + n, 0),
    all: roundValues('all').reduce((sum, n) => sum + n, 0),
    requests: roundValues('requests').reduce((sum, n) => sum + n, 0),
    failures: roundValues('failures').reduce((sum, n) => sum + n, 0),
    rounds,
  };
}

const find = (cells: readonly Cell[], workload: Workload, id: Id) =>
  cells.find((cell) => cell.workload === workload && cell.id === id);

/** Returns the median of the per-round ratios between two contestants, or undefined if one was not measured. */
export function ratio(
  cells: readonly Cell[],
  workload: Workload,
  [over, under]: readonly [Id, Id],
  key: 'rate' | 'p99' = 'rate',
): number | undefined {
  const a = find(cells, workload, over);
  const b = find(cells, workload, under);
  if (a === undefined || b === undefined) return undefined;
  return median(a.rounds.map((round, i) => round[key] / (b.rounds[i]?.[key] ?? Number.NaN)));
}

/** Returns the service's performance targets and whether it met them. */
export function evaluateTargets(cells: readonly Cell[]): Target[] {
  const targets: Target[] = [];
  const add = (name: string, reached: number | undefined, sign: '≥' | '≤' | '<', aim: number) => {
    if (reached === undefined) return;
    const met = sign === '≥' ? reached >= aim : sign === '≤' ? reached <= aim : reached < aim;
    targets.push({ name, aim: `${sign} ${aim}`, reached, met });
  };
  add('view: S ÷ A', ratio(cells, 'view', ['S', 'A']), '≥', 2.5);
  add('view: S ÷ B', ratio(cells, 'view', ['S', 'B']), '≥', 1.1);
  for (const write of ['create', 'str_replace', 'insert'] as const)
    add(`${write}: S ÷ A`, ratio(cells, write, ['S', 'A']), '≥', 1.5);
  add('mix: S ÷ A', ratio(cells, 'mix', ['S', 'A']), '≥', 2);
  for (const each of ['view', 'directory', 'create', 'str_replace', 'insert', 'mix'] as const)
    add(`${each}: p99 of S ÷ p99 of A`, ratio(cells, each, ['S', 'A'], 'p99'), '<', 1);
  for (const each of ['view', 'mix'] as const)
    add(`${each}: S ÷ AUTH=none`, ratio(cells, each, ['S', 'N']), '≥', 0.95);
  for (const write of ['create', 'str_replace', 'insert'] as const)
    add(`${write}: cost with an idempotency key ÷ without`, ratio(cells, write, ['S', 'I']), '≤', 1.25);
  return targets;
}
