import { expect, it } from 'vitest';
import { setMount } from '../../src/core/tenants/mounts.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { freshTenant, type Service } from './test-service.ts';

/** The expected content for a success or for an error result. */
export type Expected = { ok: string } | { error: string };
export type Step = [input: object, expected: Expected];

export const ok = (content: string): Expected => ({ ok: content });
export const error = (content: string): Expected => ({ error: content });

export const cmd = {
  view: (path: string, view_range?: unknown) => ({
    command: 'view',
    path,
    ...(view_range === undefined ? {} : { view_range }),
  }),
  create: (path: string, file_text = '') => ({ command: 'create', path, file_text }),
  replace: (path: string, old_str: string, new_str?: string) => ({
    command: 'str_replace',
    path,
    old_str,
    ...(new_str === undefined ? {} : { new_str }),
  }),
  insert: (path: string, insert_line: number, insert_text: string) => ({
    command: 'insert',
    path,
    insert_line,
    insert_text,
  }),
  delete: (path: string) => ({ command: 'delete', path }),
  rename: (old_path: string, new_path: string) => ({ command: 'rename', old_path, new_path }),
};

/** A tenant's initial files: contents by path. */
export type Files = Record<string, string>;

/**
 * Defines two tests. On a new tenant with `files`, each step returns exactly the expected result. Below a mount, the
 * results are the same with the mount's paths.
 *
 * @param options.onlyAtRoot reason to skip the test below a mount: the results differ, apart from their paths
 */
export function script(
  service: () => Service,
  title: string,
  files: Files,
  steps: Step[],
  { onlyAtRoot }: { onlyAtRoot?: string } = {},
): void {
  it(title, () => runScript(service(), freshTenant(), files, steps));
  if (onlyAtRoot !== undefined) return;
  it(`${title}, below a mount`, { tags: 'mounted' }, async () => {
    const { database } = service();
    const [tenant, mounted] = [freshTenant(), freshTenant('mounted')];
    for (const each of [tenant, mounted]) await new Tenants(database).create(each);
    const mount = { name: 'team', tenant: mounted, access: 'read_write', instructions: '' } as const;
    await setMount(database, tenant, mount);
    await runScript(service(), tenant, movePathsBelowMount(files), movePathsBelowMount(steps));
  });
}

async function runScript(service: Service, tenant: string, files: Files, steps: Step[]): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    const made = await service.execute(cmd.create(path, text), { tenant });
    expect(made.content).toBe(`File created successfully at: ${path}`);
  }
  for (const [input, expected] of steps) {
    const answer = await service.execute(input, { tenant });
    const got = answer.is_error ? { error: answer.content } : { ok: answer.content };
    expect({ input, status: answer.status, ...got }).toStrictEqual({ input, status: 200, ...expected });
  }
}

/** Moves all paths in strings below `/memories/team`, except the root in sentences from the contract. */
function movePathsBelowMount<T>(value: T): T {
  if (typeof value === 'string') {
    return value
      .replace(/\/memories(?![A-Za-z0-9._%-])/g, '/memories/team')
      .replace(/(Path must start with|would escape) \/memories\/team/, '$1 /memories')
      .replace(
        'delete the /memories/team directory itself',
        'delete /memories/team: another memory is mounted there',
      )
      .replace(
        'rename the /memories/team directory itself',
        'rename /memories/team: another memory is mounted there',
      ) as T;
  }
  if (Array.isArray(value)) return value.map(movePathsBelowMount) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [movePathsBelowMount(key), movePathsBelowMount(each)]),
  ) as T;
}
