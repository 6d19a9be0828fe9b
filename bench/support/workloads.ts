import {
  DIRECTORIES,
  directoryPath,
  FILES_PER_DIRECTORY,
  filePath,
  SMALL_BYTES,
  tenantName,
  text,
} from './data.ts';

export const workloads = ['view', 'directory', 'create', 'str_replace', 'insert', 'mix'] as const;
/** With `one_file`, all connections edit one file in one tenant, and the file keeps its size. */
export type Workload = (typeof workloads)[number] | 'one_file';

export const describeWorkload: Record<Workload, string> = {
  view: 'view of a 1 KB file',
  directory: 'view of a directory of 20',
  create: 'create of a 1 KB file',
  str_replace: 'str_replace in a 10 KB file',
  insert: 'insert in a 10 KB file',
  one_file: 'str_replace in one 10 KB file by all connections',
  mix: 'mix: 60 % view, 15 % str_replace, 10 % insert, 10 % create, 5 % rename and delete',
};

/** Whether repeated calls succeed with the same effect. */
export const isRepeatable = (workload: Workload) => workload !== 'create' && workload !== 'mix';

export type Input =
  | { command: 'view'; path: string }
  | { command: 'create'; path: string; file_text: string }
  | { command: 'str_replace'; path: string; old_str: string; new_str: string }
  | { command: 'insert'; path: string; insert_line: number; insert_text: string }
  | { command: 'rename'; old_path: string; new_path: string }
  | { command: 'delete'; path: string };

export interface Call {
  tenant: string;
  input: Input;
}

/** Number of tenants in read-only workloads. The other workloads use all tenants. */
const VIEWED_TENANTS = 100;

// A cycle with twenty calls. `tidy` renames a file created earlier, and deletes it the next time.
const MIX = [
  'view',
  'str_replace',
  'view',
  'create',
  'view',
  'view',
  'insert',
  'view',
  'directory',
  'str_replace',
  'view',
  'view',
  'create',
  'view',
  'insert',
  'view',
  'str_replace',
  'directory',
  'view',
  'tidy',
] as const;

const NEW_TEXT = text(SMALL_BYTES);

/**
 * Returns an endless sequence of calls for one of `clients` connections. Each connection cycles through its own
 * tenants. Every call succeeds regardless of earlier calls, because new files have new names, and an edit keeps the
 * text that the next edit replaces.
 *
 * @param run unique name for the run, so that file names are new
 */
export function createCalls(
  workload: Workload,
  options: { client: number; clients: number; tenants: number; run: string },
): () => Call {
  const { client, clients, run } = options;
  const isRead = workload === 'view' || workload === 'directory';
  const tenants = isRead ? Math.min(VIEWED_TENANTS, options.tenants) : options.tenants;
  const own = Math.max(1, Math.ceil((tenants - client) / clients));
  const made: Call[] = [];
  let n = 0;

  const inputFor = (kind: Exclude<Workload, 'mix'>): Input => {
    const directory = n % DIRECTORIES;
    switch (kind) {
      case 'view':
        return { command: 'view', path: filePath(directory, 1 + (n % (FILES_PER_DIRECTORY - 1))) };
      case 'directory':
        return { command: 'view', path: directoryPath(directory) };
      case 'create':
        return { command: 'create', path: `/memories/new/${run}-${client}-${n}.md`, file_text: NEW_TEXT };
      case 'str_replace':
        return { command: 'str_replace', path: filePath(directory, 0), old_str: 'log:', new_str: 'log:.' };
      case 'one_file':
        return { command: 'str_replace', path: filePath(0, 0), old_str: 'log:', new_str: 'log:' };
      case 'insert':
        return { command: 'insert', path: filePath(directory, 0), insert_line: 2, insert_text: '- seen\n' };
    }
  };

  return () => {
    const kind = workload === 'mix' ? MIX[n % MIX.length] : workload;
    const tenant =
      kind === 'one_file'
        ? tenantName(0)
        : tenantName((client + clients * (Math.floor(n / 3) % own)) % tenants);
    if (kind === 'tidy') {
      n++;
      return nextCleanUp(made) ?? { tenant, input: inputFor('view') };
    }
    const call = { tenant, input: inputFor(kind ?? 'view') };
    if (workload === 'mix' && call.input.command === 'create') made.push(call);
    n++;
    return call;
  };
}

/** Renames the oldest file created by this connection, or deletes it if it was already renamed. */
function nextCleanUp(made: Call[]): Call | undefined {
  const call = made[0];
  if (call?.input.command === 'create') {
    const { path } = call.input;
    const moved = `${path}.old`;
    made[0] = { tenant: call.tenant, input: { command: 'delete', path: moved } };
    return { tenant: call.tenant, input: { command: 'rename', old_path: path, new_path: moved } };
  }
  return made.shift();
}
