import { expect, it } from 'vitest';
import { freshTenant, type Service } from './service.ts';

/** The expected content of a success or of an error result. */
export type Expected = { ok: string } | { error: string };
export type Step = [input: object, expected: Expected];

export const ok = (content: string): Expected => ({ ok: content });
export const error = (content: string): Expected => ({ error: content });

/** Shorthands for command inputs. */
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

/** The files that a tenant starts with: contents by path. */
export type Files = Record<string, string>;

/** Defines a test: on a new tenant with `files`, each step gives exactly the expected answer. */
export function script(service: () => Service, title: string, files: Files, steps: Step[]): void {
  it(title, async () => {
    const tenant = freshTenant();
    for (const [path, text] of Object.entries(files)) {
      const made = await service().execute(cmd.create(path, text), { tenant });
      expect(made.content).toBe(`File created successfully at: ${path}`);
    }
    for (const [input, expected] of steps) {
      const answer = await service().execute(input, { tenant });
      const got = answer.is_error ? { error: answer.content } : { ok: answer.content };
      expect({ input, status: answer.status, ...got }).toStrictEqual({ input, status: 200, ...expected });
    }
  });
}
