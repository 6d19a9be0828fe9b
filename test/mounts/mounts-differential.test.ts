/**
 * One agent over four memories whose owners also write, and a reviewer who rejects the agent's draft: random scripts
 * match a one-tree model.
 *
 * @module-tag long-on-pglite
 */
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { setMount } from '../../src/core/tenants/mounts.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { closeDraft } from '../../src/features/drafts/close.ts';
import { anyInput, fuzzParameters } from '../support/arbitraries.ts';
import { AUTHOR } from '../support/drafting.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import { toCanonical } from '../support/model/model-path.ts';
import { Failure } from '../support/model/model-types.ts';
import { emptyTree, type Result, run, type Tree } from '../support/model.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

const LIMITS = { maxFileBytes: 200 };

// Frequent names in random paths.
const WRITABLE = '/memories/a';
const READ_ONLY = '/memories/b';
const PROPOSED = '/memories/c';
const MOUNTS = [WRITABLE, READ_ONLY, PROPOSED];
const REVIEWER = 'reviewer';
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

const findMount = (path: string | undefined) =>
  MOUNTS.find((mount) => path === mount || path?.startsWith(`${mount}/`));

/** Returns the error for an input that a mount does not permit, as in the contract. */
function expectedRejection(input: Record<string, unknown>): string | undefined {
  const readOnly = `Error: ${READ_ONLY} is read-only. Write to your own directories under /memories, ${WRITABLE}, or ${PROPOSED} instead.`;
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
  if (!WRITES.includes(String(input.command))) return undefined;
  const path = parsePath(input.path);
  if (input.command === 'delete' && MOUNTS.includes(String(path)))
    return `Error: Cannot delete ${path}: another memory is mounted there`;
  return findMount(path) === READ_ONLY ? readOnly : undefined;
}

/** Whether an input that is not rejected opens the agent's draft. */
function isProposal(input: Record<string, unknown>): boolean {
  const paths =
    input.command === 'rename'
      ? [input.old_path, input.new_path]
      : WRITES.includes(String(input.command))
        ? [input.path]
        : [];
  return paths.length > 0 && paths.every((path) => findMount(parsePath(path)) === PROPOSED);
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

/** The memories as one tree, as the agent sees it. */
class MountedModel {
  tree: Tree = new Map([...emptyTree, [WRITABLE, null], [READ_ONLY, null], [PROPOSED, null]]);
  /** The memory to which the agent proposes changes, while it has a draft. */
  original: Tree | undefined;

  asAgent(input: Record<string, unknown>): Result {
    const why = expectedRejection(input);
    if (why !== undefined) return { content: why, is_error: true };
    if (isProposal(input)) this.original ??= mountedTree(this.tree, PROPOSED);
    const { tree, result } = run(this.tree, input, LIMITS);
    this.tree = tree;
    return result;
  }

  asOwner(mount: string, input: object): Result {
    if (mount === PROPOSED && this.original !== undefined) {
      const { tree, result } = run(this.original, input, LIMITS);
      this.original = tree;
      return result;
    }
    const { tree, result } = run(mountedTree(this.tree, mount), input, LIMITS);
    this.tree = replaceInner(this.tree, mount, tree);
    return result;
  }

  reject(): void {
    if (this.original !== undefined) this.tree = replaceInner(this.tree, PROPOSED, this.original);
    this.original = undefined;
  }
}

const step = fc.record({
  owner: fc.oneof(
    { weight: 5, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom(...MOUNTS, REVIEWER) },
  ),
  input: anyInput,
});

describeService(
  'random scripts over four memories',
  (service, kind) => {
    let steps = 0;
    let mounted = 0;

    afterAll(() =>
      console.log(`mounts on ${kind}: ${steps} steps, ${mounted} of them on mounts, all equal to the model`),
    );

    it('returns the same results as a model with one tree for random scripts over four memories', {
      tags: 'random',
    }, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60, size: 'max' }), async (script) => {
          const { database } = service();
          const [own, writable, readOnly, proposed] = [
            freshTenant('own'),
            freshTenant('rw'),
            freshTenant('ro'),
            freshTenant('propose'),
          ] as const;
          const owners: Record<string, string> = {
            [WRITABLE]: writable,
            [READ_ONLY]: readOnly,
            [PROPOSED]: proposed,
          };
          for (const tenant of [own, writable, readOnly, proposed])
            await new Tenants(database).create(tenant);
          const mount = { instructions: '' };
          await setMount(database, own, { ...mount, name: 'a', tenant: writable, access: 'read_write' });
          await setMount(database, own, { ...mount, name: 'b', tenant: readOnly, access: 'read_only' });
          await setMount(database, own, { ...mount, name: 'c', tenant: proposed, access: 'propose' });
          const findDrafts = () =>
            service().query("SELECT id FROM drafts WHERE tenant_id = $1 AND state = 'open'", [proposed]);
          const model = new MountedModel();
          for (const { owner, input } of script) {
            if (owner === REVIEWER) {
              model.reject();
              for (const { id } of await findDrafts()) {
                const ids = { tenant: proposed, draft: String(id) };
                await closeDraft(database, ids, { state: 'rejected', by: AUTHOR });
              }
              continue;
            }
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
          expect(await findDrafts()).toHaveLength(model.original === undefined ? 0 : 1);
          for (const [path, tenant] of Object.entries(owners)) {
            const original = path === PROPOSED ? model.original : undefined;
            expect(await readTree(service(), tenant)).toEqual(original ?? mountedTree(model.tree, path));
          }
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
