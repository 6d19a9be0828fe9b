import { randomUUID } from 'node:crypto';
import type { Query } from '../../src/core/database/query.ts';
import {
  type LookupRow,
  lookupFileQuery,
  lookupQuery,
  readFileQuery,
} from '../../src/core/files/read-queries.ts';
import type { Input } from '../support/workloads.ts';

/** Runs a prepared statement and returns its rows. */
export type Execute = (query: {
  name: string;
  text: string;
  values: unknown[];
}) => Promise<{ rows: unknown[] }>;

type Values = Record<string, string | number>;
type Prepared = (query: Execute, values: Values) => Promise<{ rows: unknown[] }>;

// biome-ignore lint/suspicious/noExplicitAny: the types of parameters and rows do not matter here
function prepareQuery({ name, sql, parameters }: Query<any, any>): Prepared {
  return (query, values) => query({ name, text: sql, values: parameters.map((each) => values[each]) });
}

const lookupFile = prepareQuery(lookupFileQuery);
const lookup = prepareQuery(lookupQuery);
const read = prepareQuery(readFileQuery);

/** Values for the service's parameters: no quotas, and the default history. */
const UNLIMITED = [0, 0];
const HISTORY = [30, 2 ** 30];

type Arguments = (string | number | boolean | null)[];

/** Calls one of the service's database functions, without an idempotency key and without an origin. */
const call = (query: Execute, name: string, own: Arguments, service: Arguments) => {
  const values = [...own, ...service];
  const [first, last] = [own, service].map((part, i) => part.map((_, n) => `$${n + 1 + i * own.length}`));
  const all = [...(first ?? []), 'NULL', 'NULL', 'NULL', 'NULL', ...(last ?? []), 'true'];
  return query({ name, text: `SELECT outcome FROM ${name}(${all.join(', ')})`, values });
};

/** Runs a memory command with the service's SQL and formatting, but without any validation. */
export async function executeBare(query: Execute, tenant: string, input: Input): Promise<string> {
  switch (input.command) {
    case 'view': {
      const { path } = input;
      const { rows } = path.endsWith('.md')
        ? await lookupFile(query, { tenant, path })
        : await lookup(query, { tenant, path, maxEntries: 10_000 });
      return show(path, rows as LookupRow[]);
    }
    case 'create': {
      const { path, file_text: content } = input;
      await call(query, 'memory_create', [tenant, path, content, randomUUID(), true], UNLIMITED);
      return `File created successfully at: ${path}`;
    }
    case 'str_replace':
      await edit(query, tenant, input.path, (content) => content.replace(input.old_str, () => input.new_str));
      return 'The memory file has been edited.';
    case 'insert':
      await edit(query, tenant, input.path, (content) => {
        const lines = content.split('\n');
        lines.splice(input.insert_line, 0, input.insert_text.replace(/\n$/, ''));
        return lines.join('\n');
      });
      return `The file ${input.path} has been edited.`;
    case 'rename': {
      const { old_path: from, new_path: to } = input;
      await call(query, 'memory_rename', [tenant, from, to, randomUUID()], [1024, 20, 0, ...HISTORY]);
      return `Successfully renamed ${from} to ${to}`;
    }
    case 'delete':
      await call(query, 'memory_delete', [tenant, input.path, randomUUID()], HISTORY);
      return `Successfully deleted ${input.path}`;
  }
}

function show(path: string, rows: LookupRow[]): string {
  const [found] = rows;
  if (found === undefined) throw new Error(`There is nothing at ${path}.`);
  if (found.kind === 'file') return showFile(path, found.content ?? '');
  const lines = (found.entries ?? '').split('\n').map((line) => {
    const [entry, bytes] = line.split('\t');
    return bytes === undefined ? `${size(4096)}\t${entry}/` : `${size(Number(bytes))}\t${entry}`;
  });
  return `Here're the files and directories up to 2 levels deep in ${path}, excluding hidden items and node_modules:\n4.0K\t${path}\n${lines.join('\n')}`;
}

export function showFile(path: string, content: string): string {
  const lines = content.split('\n').map((line, i) => `${String(i + 1).padStart(6)}\t${line}`);
  return `Here's the content of ${path} with line numbers:\n${lines.join('\n')}`;
}

function size(bytes: number): string {
  return bytes < 1024 ? `${bytes}B` : `${(bytes / 1024).toFixed(1)}K`;
}

async function edit(query: Execute, tenant: string, path: string, change: (content: string) => string) {
  const [file] = (await read(query, { tenant, path })).rows as { content: string; version: string }[];
  if (file === undefined) throw new Error(`There is no file at ${path}.`);
  const bytes = Buffer.byteLength(file.content);
  const own = [tenant, path, file.version, 0, bytes, change(file.content), randomUUID()];
  await call(query, 'memory_write', own, [0, ...HISTORY]);
}
