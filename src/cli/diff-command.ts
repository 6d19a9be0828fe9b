import type { Command } from 'commander';
import { OperatorError } from '../errors.ts';
import { type LoadedState, withContents } from '../history/change.ts';
import { changeBy, changeFrom, changesBetween, type FileChange } from '../history/diff.ts';
import type { History } from '../history/history.ts';
import { patchOf } from '../history/patch.ts';
import type { MemoryPath } from '../memory/path.ts';
import { memoryPath, tenantId } from './arguments.ts';
import { isVersionId, TIME_HELP, timeArgument, versionArgument } from './history-arguments.ts';
import { type Io, print } from './io.ts';
import { patchText, reasonOf } from './patch-output.ts';
import type { Open } from './session.ts';
import { findVersion } from './show-command.ts';
import { withTenant } from './tenant-session.ts';

interface Options {
  at?: string;
  to?: string;
  json?: boolean;
}

type Subject = { kind: 'version'; id: string } | { kind: 'path'; path: MemoryPath };

const EXAMPLES = `
Examples:
  memory-service diff acme 5d1f8f0e-8d5c-4d4e-9d0a-0b8f6f7f3f1c
  memory-service diff acme /memories --at 2d
  memory-service diff acme /memories/prefs.md --at 2026-11-20 --to 2026-11-21`;

/** `diff`: what a version changed, or what differs between two versions or times. */
export function registerDiffCommand(program: Command, open: Open, io: Io): void {
  program
    .command('diff')
    .description(
      'Show as a unified diff what a version changed, or what differs between two versions, or between two times at a path and below it.',
    )
    .argument('<tenant>', 'its id', tenantId)
    .argument('<version|path>', 'the id of a version, or with --at a path', subjectArgument)
    .argument('[version]', 'the id of a second version, to compare the first with', versionArgument)
    .option('--at <time>', 'the time to compare from', timeArgument)
    .option('--to <time>', 'the time to compare with; by default now', timeArgument)
    .option('--json', 'as JSON, an object a line')
    .addHelpText('after', `${TIME_HELP}\n${EXAMPLES}`)
    .action((tenant: string, subject: Subject, second: string | undefined, options: Options) => {
      const changesIn = changesOf(tenant, subject, second, options);
      return withTenant(open, tenant, async ({ history }) => {
        const changes = withContents(history, tenant, changesIn(history));
        await print(io.stdout, output(changes, options.json ?? false, io));
      });
    });
}

function subjectArgument(value: string): Subject {
  return isVersionId(value)
    ? { kind: 'version', id: versionArgument(value) }
    : { kind: 'path', path: memoryPath(value) };
}

/** @throws OperatorError when the arguments do not go together */
function changesOf(
  tenant: string,
  subject: Subject,
  second: string | undefined,
  { at, to }: Options,
): (history: History) => AsyncGenerator<FileChange> {
  if (subject.kind === 'version') {
    if (at !== undefined || to !== undefined) {
      throw new OperatorError('--at and --to go with a path, not with a version.');
    }
    return (history) => betweenVersions(history, tenant, subject.id, second);
  }
  if (second !== undefined) throw new OperatorError('Give two versions, or a path with --at.');
  if (at === undefined) throw new OperatorError('Say from when to compare a path: --at <time>.');
  return (history) => changesBetween(history, tenant, subject.path, { from: at, to });
}

async function* betweenVersions(
  history: History,
  tenant: string,
  first: string,
  second: string | undefined,
): AsyncGenerator<FileChange> {
  const { version } = await findVersion(history, tenant, first);
  if (second === undefined) yield await changeBy(history, tenant, version);
  else yield changeFrom(version, (await findVersion(history, tenant, second)).version);
}

async function* output(
  changes: AsyncIterable<{ change: FileChange; before: LoadedState; after: LoadedState }>,
  json: boolean,
  { stdout }: Io,
): AsyncGenerator<string> {
  for await (const { change, before, after } of changes) {
    const patch = patchOf(before, after);
    if (patch === '') continue;
    const [oldPath, path] = [pathOf(before), pathOf(after)];
    if (json) {
      const versions = { old_version: change.oldVersion, version: change.newVersion };
      yield `${JSON.stringify({ old_path: oldPath, path, ...versions, patch: patch ?? null })}\n`;
    } else if (patch === undefined) {
      yield `(${path ?? oldPath ?? change.newVersion}: no diff: ${reasonOf(before, after)})\n`;
    } else {
      yield patchText(stdout, patch);
    }
  }
}

function pathOf(state: LoadedState): string | null {
  return state.kind === 'file' ? state.path : null;
}
