import { emptyTree, type Limits, type Result, run, type Tree } from './model.ts';

/** One call of a concurrent history, with the moments it began and ended, as counted by one counter. */
export interface Call {
  input: object;
  result: Result;
  invoked: number;
  responded: number;
}

/** A tree as text: equal trees, equal texts. */
export function fingerprint(tree: Tree): string {
  return JSON.stringify([...tree].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * Whether one order of the calls explains the history: an order in which each call, run by the model alone, gives the
 * result it gave, which puts no call before one that had ended when it began, and which ends in `final`.
 *
 * The search of Wing and Gong (1993), with Lowe's memo of (calls done, state) pairs known to lead nowhere (2017).
 *
 * @returns the calls in such an order, or undefined when there is none
 */
export function linearize(history: Call[], final?: Tree, limits?: Limits): Call[] | undefined {
  if (history.length > 30) throw new Error('the set of calls done is a 32-bit number');
  const wanted = final && fingerprint(final);
  const hopeless = new Set<string>();

  const search = (done: number, tree: Tree): Call[] | undefined => {
    const pending = history.filter((_, i) => !(done & (1 << i)));
    const state = fingerprint(tree);
    if (pending.length === 0) return wanted === undefined || wanted === state ? [] : undefined;
    const key = `${done} ${state}`;
    if (hopeless.has(key)) return undefined;
    const firstEnd = Math.min(...pending.map((call) => call.responded));
    for (const [i, call] of history.entries()) {
      if (done & (1 << i) || call.invoked > firstEnd) continue;
      const next = run(tree, call.input, limits);
      if (next.result.content !== call.result.content || next.result.is_error !== call.result.is_error)
        continue;
      const rest = search(done | (1 << i), next.tree);
      if (rest) return [call, ...rest];
    }
    hopeless.add(key);
    return undefined;
  };
  return search(0, emptyTree);
}
