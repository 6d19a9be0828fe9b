/**
 * One agent over three memories whose owners also write: random scripts match a one-tree model.
 *
 * @module-tag long-on-pglite
 */
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { setMount } from '../../src/core/tenants/mounts.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { anyInput, fuzzParameters } from '../support/arbitraries.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import { toCanonical } from '../support/model/model-path.ts';
import { Failure } from '../support/model/model-types.ts';
import { emptyTree, type Result, run, type Tree } from '../support/model.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

const LIMITS = { maxFileBytes: 200 };

// Frequent names in random paths.
const WRITABLE = '/memories/a';
const READ_ONLY = '/memories/b';
const MOUNTS = [WRITABLE, READ_ONLY];

/** Returns the canonical path, or undefined for an invalid one. */
function parsePath(given: unknown): string | undefined {
  try {
    return typeof given === 'string' ? toCanonical(given) : undefined;
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

const findMount = (path: string | undefined) =>
  MOUNTS.find((mount) => path === mount || path?.startsWith(`${mount}/`));

/** Returns the error for an input that a mount does not permit, as in the contract. */
function expectedRejection(input: Record<string, unknown>): string | undefined {
  const readOnly = `Error: ${READ_ONLY} is read-only. Write to your own directories under /memories or ${WRITABLE} instead.`;
  if (input.command === 'rename') {
    const [from, to] = [parsePath(input.old_path), parsePath(input.new_path)];
    if ([from, to].includes(undefined) || [from, to].includes('/memories')) return undefined;
    if (MOUNTS.includes(String(from))) return `Error: Cannot rename ${from}: another memory is mounted there`;
    if (MOUNTS.includes(String(to))) return `Error: The destination ${to} already exists`;
    if (findMount(to) === READ_ONLY) return readOnly;
    if (findMount(from) === findMount(to)) return undefined;
    const advice =
      findMount(from) === READ_ONLY
        ? `To have a copy, create ${to} with the same content.`
        : `Create ${to} with the same content, then delete ${from}.`;
    return `Error: Cannot rename ${from} to ${to}: they are in different memories. ${advice}`;
  }
  if (!['create', 'str_replace', 'insert', 'delete'].includes(String(input.command))) return undefined;
  const path = parsePath(input.path);
  if (input.command === 'delete' && MOUNTS.includes(String(path)))
    return `Error: Cannot delete ${path}: another memory is mounted there`;
  return findMount(path) === READ_ONLY ? readOnly : undefined;
}

/** Returns the tree below a mount, as its owner sees it. */
function mountedTree(tree: Tree, mount: string): Tree {
  const below = [...tree].filter(([path]) => path === mount || path.startsWith(`${mount}/`));
  return new Map(below.map(([path, content]) => [`/memories${path.slice(mount.length)}`, content]));
}

function replaceInner(tree: Tree, mount: string, owned: Tree): Tree {
  const others = [...tree].filter(([path]) => findMount(path) !== mount);
  const seen = [...owned].map(
    ([path, content]) => [mount + path.slice('/memories'.length), content] as const,
  );
  return new Map([...others, ...seen]);
}

/** The three memories as one tree, as the agent sees it. */
class MountedModel {
  tree: Tree = new Map([...emptyTree, [WRITABLE, null], [READ_ONLY, null]]);

  asAgent(input: Record<string, unknown>): Result {
    const why = expectedRejection(input);
    if (why !== undefined) return { content: why, is_error: true };
    const { tree, result } = run(this.tree, input, LIMITS);
    this.tree = tree;
    return result;
  }

  asOwner(mount: string, input: object): Result {
    const { tree, result } = run(mountedTree(this.tree, mount), input, LIMITS);
    this.tree = replaceInner(this.tree, mount, tree);
    return result;
  }
}

const step = fc.record({
  owner: fc.oneof(
    { weight: 5, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom(...MOUNTS) },
  ),
  input: anyInput,
});

describeService(
  'random scripts over three memories',
  (service, kind) => {
    let steps = 0;
    let mounted = 0;

    afterAll(() =>
      console.log(`mounts on ${kind}: ${steps} steps, ${mounted} of them on mounts, all equal to the model`),
    );

    it('returns the same results as a model with one tree for random scripts over three memories', {
      tags: 'random',
    }, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60, size: 'max' }), async (script) => {
          const { database } = service();
          const [own, writable, readOnly] = [
            freshTenant('own'),
            freshTenant('rw'),
            freshTenant('ro'),
          ] as const;
          const owners: Record<string, string> = { [WRITABLE]: writable, [READ_ONLY]: readOnly };
          for (const tenant of [own, writable, readOnly]) await new Tenants(database).create(tenant);
          const mount = { instructions: '' };
          await setMount(database, own, { ...mount, name: 'a', tenant: writable, access: 'read_write' });
          await setMount(database, own, { ...mount, name: 'b', tenant: readOnly, access: 'read_only' });
          const model = new MountedModel();
          for (const { owner, input } of script) {
            const expected = owner === undefined ? model.asAgent(input) : model.asOwner(owner, input);
            const tenant = owner === undefined ? own : owners[owner];
            const { status, content, is_error } = await service().execute(input, tenant ? { tenant } : {});
            expect({ owner, input, status, content, is_error }).toEqual({
              owner,
              input,
              status: 200,
              ...expected,
            });
            steps++;
            if (owner === undefined && findMount(parsePath(input.path ?? input.old_path)) !== undefined)
              mounted++;
          }
          for (const [path, tenant] of Object.entries(owners))
            expect(await readTree(service(), tenant)).toEqual(mountedTree(model.tree, path));
          const others = [...model.tree].filter(([path]) => findMount(path) === undefined);
          expect(await readTree(service(), own)).toEqual(new Map(others));
        }),
        fuzzParameters(kind === 'pglite' ? 60 : 100),
      );
      await assertInvariants(service());
    });
  },
  { MAX_FILE_BYTES: String(LIMITS.maxFileBytes), MAX_VIEW_CHARS: '0' },
);
