import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { tenantId } from '../../../core/cli/arguments.ts';
import { type Cli, command } from '../../../core/cli/cli-command.ts';
import { explain } from '../../../core/cli/hints.ts';
import type { Io } from '../../../core/cli/io.ts';
import { printLine, sanitizeForTerminal } from '../../../core/cli/output.ts';
import { lockFile } from '../../../core/database/data-directory.ts';
import { OperatorError, ServiceError } from '../../../core/errors/errors.ts';
import { amount } from '../../../core/lib/units.ts';
import { ROOT } from '../../../core/memory/path.ts';
import type { SyncChange } from './changes.ts';
import { toDeviceName } from './conflict-path.ts';
import { LocalDirectory, makeStateDirectory } from './local-directory.ts';
import { RemoteMemory } from './remote-memory.ts';
import { STATE_DIRECTORY, SyncState } from './sync-state.ts';
import { type SyncOptions, type SyncResult, synchronize } from './synchronize.ts';
import { LocalChanges, PolledChanges, runAfterChanges } from './watch.ts';

interface Options {
  dryRun?: boolean;
  watch?: boolean;
  allowEmpty?: boolean;
  device?: string;
  json?: boolean;
}

export const syncCommand = (cli: Cli) =>
  command(
    cli,
    'sync',
    "Synchronize a local directory with a tenant's memory, in both directions. Changes to different lines of a file are merged. If both sides changed the same lines, the directory keeps both versions.",
  )
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<directory>', 'local directory; created if it does not exist')
    .option('--watch', 'continue to synchronize after each change, until interrupted')
    .option('--dry-run', 'list the changes without making them')
    .option('--allow-empty', 'delete the files on one side even if the other side has lost all its files')
    .option('--device <name>', "this device's name in the names of conflict files (default: the host's name)")
    .option('--json', 'print each change as JSON, one object per line')
    .examples(
      'memory-service sync acme ./vault --dry-run',
      'memory-service sync acme ./vault',
      'memory-service sync acme ./vault --watch',
    )
    .run(({ caller, io }, tenant: string, directory: string, options: Options) =>
      run(new RemoteMemory(caller, tenant), tenant, directory, options, io),
    );

async function run(
  remote: RemoteMemory,
  tenant: string,
  directory: string,
  options: Options,
  io: Io,
): Promise<void> {
  // Fails for an unknown tenant before the directory is created.
  await remote.state();
  await makeStateDirectory(directory);
  const lockPath = join(directory, STATE_DIRECTORY, 'lock');
  const lock = lockFile(lockPath);
  if (lock === undefined) throw new OperatorError(`Another process is synchronizing ${directory}.`);
  const local = new LocalDirectory(directory);
  const report = new Report(io, options.json ?? false);
  const { dryRun = false, allowEmpty = false } = options;
  const syncOptions: SyncOptions = {
    device: toDeviceName(options.device ?? hostname()),
    dryRun,
    allowEmpty,
    isCaseInsensitive: await local.isCaseInsensitive(),
    onChange: (change) => report.change(change),
  };
  const runOnce = async () => {
    // A disk that was removed while the command watches may leave an empty directory.
    if (!existsSync(lockPath))
      throw new OperatorError(`${directory} is not available, or has lost its state.`);
    const state = await SyncState.open(directory, tenant, (await remote.state()).createdAt);
    const result = await synchronize({ local, remote, state }, syncOptions).finally(() => state.close());
    report.notes(result);
    return result;
  };
  try {
    if (options.watch && !dryRun) return await watch(runOnce, local, remote, report);
    const { rejected, unfinished } = await runOnce();
    report.summary(dryRun ? 'To change' : 'Changed');
    const failed = rejected.size + unfinished.length;
    if (failed > 0) throw new OperatorError(`${amount(failed, 'file')} could not be synchronized.`);
  } finally {
    lock.close();
  }
}

/** Synchronizes after each change, until the process is interrupted. */
async function watch(
  runOnce: () => Promise<SyncResult>,
  { root }: LocalDirectory,
  remote: RemoteMemory,
  report: Report,
): Promise<void> {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  const local = new LocalChanges(root, ({ message }) => report.problem(message));
  const onFailure = (error: unknown) => report.failure(error);
  let changedAt: string | null = null;
  const task = async () => {
    const result = await runOnce().catch(onFailure);
    if (result !== undefined) changedAt = result.changedAt;
    return changedAt;
  };
  try {
    await runAfterChanges(task, local, new PolledChanges(remote), { signal: stop.signal, onFailure });
  } finally {
    local.close();
  }
}

/** Maximum notes of one kind in a synchronization. */
const MAX_NOTES = 20;

/** Prints changes to standard output, and each note once to standard error. */
class Report {
  readonly #io: Io;
  readonly #isJson: boolean;
  readonly #counts = { memory: 0, local: 0, conflict: 0 };
  #shown = new Set<string>();

  constructor(io: Io, isJson: boolean) {
    this.#io = io;
    this.#isJson = isJson;
  }

  change(change: SyncChange): void {
    this.#counts[change.side]++;
    const { side, action, path, to } = change;
    const text = `${side}: ${action} ${shownPath(path)}${to === undefined ? '' : ` to ${shownPath(to)}`}`;
    const line = this.#isJson ? JSON.stringify(change) : sanitizeForTerminal(this.#io.stdout, text);
    printLine(this.#io.stdout, line);
  }

  notes({ notes, rejected, unfinished }: SyncResult): void {
    this.#lines([...notes].map(([path, reason]) => `${shownPath(path)}: ${reason}.`));
    this.#lines([...rejected].map(([path, reason]) => `${shownPath(path)}: rejected. ${reason}`));
    this.#lines(
      unfinished.map(
        (path) => `${shownPath(path)}: unfinished, because it is changing, or its path is occupied.`,
      ),
    );
  }

  summary(verb: string): void {
    const { memory, local, conflict } = this.#counts;
    const conflicts = conflict === 0 ? '' : `, ${amount(conflict, 'conflict')}`;
    printLine(this.#io.stderr, `${verb}: ${memory} in the memory, ${local} in the directory${conflicts}.`);
  }

  /** Prints an error after which watching continues. Other errors are thrown. */
  failure(error: unknown): void {
    if (error instanceof ServiceError) this.problem(explain(error));
    else if (error instanceof OperatorError) this.problem(error.message);
    else throw error;
  }

  problem(message: string): void {
    this.#lines([message]);
  }

  /** Prints the lines that are new since the last call. */
  #lines(lines: readonly string[]): void {
    const added = lines.filter((line) => !this.#shown.has(line));
    for (const line of added.slice(0, MAX_NOTES))
      printLine(this.#io.stderr, sanitizeForTerminal(this.#io.stderr, line));
    if (added.length > MAX_NOTES) printLine(this.#io.stderr, `And ${added.length - MAX_NOTES} more.`);
    for (const line of added) this.#shown.add(line);
  }
}

/** Returns a path without the memory's root, as in the directory. */
function shownPath(path: string): string {
  return path.startsWith(`${ROOT}/`) ? path.slice(ROOT.length + 1) : path;
}
