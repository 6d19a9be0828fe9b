/**
 * A key that writes some paths directly and proposes changes to others, beside the memory's owner and a reviewer: random
 * scripts match a model with two trees.
 *
 * @module-tag long-on-pglite
 */
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { closeDraft } from '../../src/features/drafts/close.ts';
import { anyInput, fuzzParameters } from '../support/arbitraries.ts';
import { AUTHOR } from '../support/drafting.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import { toCanonical } from '../support/model/model-path.ts';
import { Failure } from '../support/model/model-types.ts';
import { emptyTree, type Result, run, type Tree } from '../support/model.ts';
import { keyClient, type RightsByPath, tenantWithFiles } from '../support/rights-client.ts';
import { describeService } from '../support/test-service.ts';

const LIMITS = { maxFileBytes: 200 };

// Frequent names in random paths.
const SETS: RightsByPath[] = [
  { '/memories/a': 'propose' },
  { '/memories': 'propose', '/memories/b': 'read_write' },
  { '/memories/a': 'propose', '/memories/a/b': 'read_write', '/memories/b/a': 'propose' },
];
const WRITES = ['create', 'str_replace', 'insert', 'delete'];

/** Returns the canonical path, or undefined for an invalid one. */
function parsePath(given: unknown): string | undefined {
  try {
    return typeof given === 'string' ? toCanonical(given) : undefined;
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

const isBelow = (path: string, directory: string) => path.startsWith(`${directory}/`);

/** The memory, and the key's draft while it is open. */
class ProposalModel {
  readonly rights: RightsByPath;
  memory: Tree = emptyTree;
  draft: Tree | undefined;

  constructor(rights: RightsByPath) {
    this.rights = rights;
  }

  isProposed(path: string): boolean {
    const [longest] = Object.keys(this.rights)
      .filter((each) => path === each || isBelow(path, each))
      .sort((a, b) => b.length - a.length);
    return longest !== undefined && this.rights[longest] === 'propose';
  }

  /** Whether changes to all paths at and below a path are proposed; undefined if only some are. */
  isWhollyProposed(path: string): boolean | undefined {
    const own = this.isProposed(path);
    const below = Object.keys(this.rights).filter((each) => isBelow(each, path));
    return below.every((each) => this.isProposed(each) === own) ? own : undefined;
  }

  /** Returns the paths in a tree that are proposed, or the others, with the directories above them. */
  shownPart(tree: Tree, proposed: boolean): Tree {
    const isShown = (path: string) => this.isProposed(path) === proposed;
    return new Map(
      [...tree].filter(([path]) => {
        const isWhole = this.isWhollyProposed(path) !== undefined;
        if (isWhole || tree.get(path) !== null) return isShown(path);
        return [...tree.keys()].some((each) => isBelow(each, path) && isShown(each));
      }),
    );
  }

  asAgent(input: Record<string, unknown>): Result {
    const given = input.command === 'rename' ? [input.old_path, input.new_path] : [input.path];
    const paths = given.map(parsePath);
    const [path = '/memories', to = path] = paths;
    const isWrite = input.command === 'rename' || WRITES.includes(String(input.command));
    if (!isWrite || paths.includes(undefined) || paths.includes('/memories')) {
      const shown = this.draft === undefined ? this.memory : this.seen(this.draft);
      return run(shown, input, LIMITS).result;
    }
    const [from, into] = [path, to].map((each) => this.isWhollyProposed(each));
    if (from === undefined || into === undefined) {
      const mixed = from === undefined ? path : to;
      return error(
        `Error: Cannot change ${mixed}: changes to only some of its files wait for a reviewer. Change the files in ${mixed} one by one instead.`,
      );
    }
    if (from !== into)
      return error(
        `Error: Cannot rename ${path} to ${to}: changes to only one of them wait for a reviewer. Create ${to} with the same content, then delete ${path}.`,
      );
    if (!from) return this.asOwner(input);
    const { tree, result } = run(this.draft ?? this.memory, input, LIMITS);
    this.draft = tree;
    return result;
  }

  /** Returns the tree that the agent sees. A path that both parts show is as in the memory. */
  seen(draft: Tree): Tree {
    return new Map([...emptyTree, ...this.shownPart(draft, true), ...this.shownPart(this.memory, false)]);
  }

  asOwner(input: object): Result {
    const { tree, result } = run(this.memory, input, LIMITS);
    this.memory = tree;
    return result;
  }
}

const error = (content: string): Result => ({ content, is_error: true });

const step = fc.record({
  by: fc.oneof(
    { weight: 8, arbitrary: fc.constant('agent') },
    { weight: 3, arbitrary: fc.constant('owner') },
    { weight: 1, arbitrary: fc.constant('reviewer') },
  ),
  input: anyInput,
});

describeService(
  'random scripts of a key that also proposes changes',
  (service, kind) => {
    let steps = 0;
    let proposed = 0;

    afterAll(() =>
      console.log(
        `proposals on ${kind}: ${steps} steps, ${proposed} of them with a draft, all equal to the model`,
      ),
    );

    it.each(SETS)(
      'returns the same results as a model with two trees, with the rights %j',
      {
        tags: 'random',
      },
      async (rights) => {
        const scripts = fc.array(step, { minLength: 20, maxLength: 60, size: 'max' });
        await fc.assert(
          fc.asyncProperty(scripts, async (script) => {
            const owner = await tenantWithFiles(service(), {});
            const { tenant } = owner;
            const agent = await keyClient(service(), tenant, rights);
            const findDrafts = () =>
              service().query("SELECT id FROM drafts WHERE tenant_id = $1 AND state = 'open'", [tenant]);
            const model = new ProposalModel(rights);
            for (const { by, input } of script) {
              if (by === 'reviewer') {
                model.draft = undefined;
                for (const { id } of await findDrafts())
                  await closeDraft(
                    service().database,
                    { tenant, draft: String(id) },
                    { state: 'rejected', by: AUTHOR },
                  );
                continue;
              }
              const expected = by === 'agent' ? model.asAgent(input) : model.asOwner(input);
              const { status, content, is_error } = await (by === 'agent' ? agent : owner).send(input);
              expect({ by, input, status, content, is_error }).toEqual({
                by,
                input,
                status: 200,
                ...expected,
              });
              steps++;
              if (model.draft !== undefined) proposed++;
            }
            const [draft] = await findDrafts();
            expect(await readTree(service(), tenant)).toEqual(model.memory);
            if (model.draft === undefined) expect(draft).toBe(undefined);
            else expect(await readTree(service(), String(draft?.id))).toEqual(model.draft);
          }),
          fuzzParameters(kind === 'pglite' ? 20 : 40),
        );
        await assertInvariants(service());
      },
    );
  },
  { AUTH: 'keys', MAX_FILE_BYTES: String(LIMITS.maxFileBytes), MAX_VIEW_CHARS: '0' },
);
