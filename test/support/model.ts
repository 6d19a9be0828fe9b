/**
 * A naive model for the contract (docs/contract.md, sections 1 to 3) that keeps each tenant in a Map and shares no code
 * with src/. It is the oracle for the differential, linearizability, and fuzz tests.
 */
import { create, insert, remove, rename, strReplace } from './model/model-edit.ts';
import { checkInput } from './model/model-input.ts';
import { ROOT, toCanonical } from './model/model-path.ts';
import { Failure, type Fields, type Limits, type Result, type Tree } from './model/model-types.ts';
import { view } from './model/model-view.ts';

export type { Limits, Result, Tree } from './model/model-types.ts';

/** A tenant's memory before its first write. */
export const emptyTree: Tree = new Map([[ROOT, null]]);

const defaults: Limits = { maxFileBytes: 1_048_576 };

type Command = (tree: Tree, fields: Fields, limits: Limits) => { tree: Tree; content: string };

const commands: Record<string, Command> = {
  view: (tree, fields) => ({ tree, content: view(tree, fields) }),
  create,
  str_replace: strReplace,
  insert,
  delete: remove,
  rename,
};

/** Runs one command, given as parsed JSON, on a tree. A command that fails returns the tree unchanged. */
export function run(tree: Tree, input: object, limits = defaults): { tree: Tree; result: Result } {
  try {
    const { command, fields } = checkInput(input as Record<string, unknown>);
    const paths: Partial<Fields> = {};
    for (const name of ['path', 'old_path', 'new_path'] as const) {
      if (command === 'rename' ? name !== 'path' : name === 'path') paths[name] = toCanonical(fields[name]);
    }
    const done = commands[command]?.(tree, { ...fields, ...paths }, limits);
    if (!done) throw new Error(`the model has no command ${command}`);
    return { tree: done.tree, result: { content: done.content, is_error: false } };
  } catch (error) {
    if (error instanceof Failure) return { tree, result: { content: error.message, is_error: true } };
    throw error;
  }
}

export class Model {
  tree: Tree = emptyTree;
  readonly limits: Limits;

  constructor(limits: Limits = defaults) {
    this.limits = limits;
  }

  run(input: object): Result {
    const { tree, result } = run(this.tree, input, this.limits);
    this.tree = tree;
    return result;
  }
}
