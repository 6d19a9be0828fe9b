import { emptyTree, type Limits, type Result, run, type Tree } from './model.ts';

/** One call in a concurrent history, with its start and end by a logical clock. */
export interface Call {
  input: object;
  result: Result;
  invoked: number;
  responded: number;
}

/** Serializes a tree so that equal trees have equal texts. */
export function fingerprint(tree: Tree): string {
  return JSON.stringify([...tree].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * Searches for a sequential order that explains the history. The model gives each call its observed result, a call that
 * ended before another began comes first, and the last state is `final`.
 *
 * The algorithm is by Wing and Gong (1993) with Lowe's memo (2017) for pairs of completed calls and state that lead to
 * no order.
 *
 * @returns the calls in such an order, or undefined if there is none
 */
export function linearize(history: Call[], final?: Tree, limits?: Limits): Call[] | undefined {
  if (history.length > 30)
    throw new Error(
      'a history may have at most 30 calls, because the set of completed calls is a 32-bit integer',
    );
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
