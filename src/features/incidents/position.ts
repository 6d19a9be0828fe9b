import type { ClaimedJob } from './lease.ts';

/** A job's place in its tenants. */
export interface Position {
  /** Number of the pass over the tenants, from 1. */
  pass: number;
  /** Start of the pass in database time; empty before the start. */
  at: string;
  /** Number of arrived tenants when the pass started. */
  arrivals: number;
  /** Only tenants that have changed or arrived since then belong to the pass; null for all tenants. */
  changed: { since: string; arrivals: number } | null;
  /** All tenants up to this ID are done, and the tenants in `ahead` after it. */
  after: string;
  ahead: string[];
  /** Whether the pass has processed a tenant again, and whether an outcome has changed. */
  hasOutcomes: boolean;
  hasFound: boolean;
}

/** Returns the position where a pass starts. */
export function passStart(
  pass: number,
  at: string,
  arrivals: number,
  changed: Position['changed'],
): Position {
  return { pass, at, arrivals, changed, after: '', ahead: [], hasOutcomes: false, hasFound: false };
}

/** Reads a job's position. */
export function jobPosition({ position }: Pick<ClaimedJob, 'position'>): Position {
  return position === '' ? passStart(1, '', 0, null) : (JSON.parse(position) as Position);
}

/** Moves the position while tenants are processed at the same time, and end in any order. */
export class TenantOrder {
  readonly #position: Position;
  /** The tenants after `after` that are known, in order. */
  readonly #tenants: { id: string; isDone: boolean }[] = [];
  readonly #doneBefore: ReadonlySet<string>;

  constructor(position: Position) {
    this.#position = position;
    this.#doneBefore = new Set(position.ahead);
  }

  /** Adds the next tenant. Returns false if it is done already. */
  add(id: string): boolean {
    const isDone = this.#doneBefore.has(id);
    this.#tenants.push({ id, isDone });
    if (isDone) this.#move();
    return !isDone;
  }

  finish(id: string): void {
    for (const tenant of this.#tenants) if (tenant.id === id) tenant.isDone = true;
    this.#move();
  }

  #move(): void {
    while (this.#tenants[0]?.isDone) this.#position.after = this.#tenants.shift()?.id ?? '';
    const known = new Set(this.#tenants.map(({ id }) => id));
    const later = [...this.#doneBefore].filter((id) => id > this.#position.after && !known.has(id));
    this.#position.ahead = [...this.#tenants.filter(({ isDone }) => isDone).map(({ id }) => id), ...later];
  }
}
