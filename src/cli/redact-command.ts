import type { Command } from 'commander';
import { redactDirectories, redactVersion } from '../history/redact.ts';
import type { MemoryPath } from '../memory/path.ts';
import { memoryPath, tenantId } from './arguments.ts';
import type { Io } from './io.ts';
import { operatorOrigin } from './operator.ts';
import { printJson, printLine } from './output.ts';
import { type Open, withDatabase } from './session.ts';

type Subject = { kind: 'version'; version: string } | { kind: 'path'; path: MemoryPath };

/** `redact`: removes a secret from the history. */
export function registerRedactCommand(program: Command, open: Open, io: Io): void {
  program
    .command('redact')
    .description('Permanently remove the path and content of a version that is no longer live.')
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument(
      '<version>',
      'ID of the version, from `log`, or path of a directory that is gone',
      subjectArgument,
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Other versions with the same content, such as those before a rename, are redacted as well, and so are all
stored answers of the tenant: a retried request learns that its answer was redacted. Backups keep the text
until you delete them.

A path removes the names of the directories that were there and below it, once their files' versions are
redacted: for a directory that was empty when it was renamed or deleted.

Examples:
  memory-service redact acme 0b6c2f0e-5f0a-4c0e-9d57-3f1f6f0d9a11
  memory-service redact acme /memories/old-name`,
    )
    .action((tenant: string, subject: Subject, { json }: { json?: boolean }) =>
      withDatabase(open, async ({ database }) => {
        if (subject.kind === 'path') {
          const redacted = await redactDirectories(database, tenant, subject.path);
          if (json) return printJson(io.stdout, redacted);
          const { directories, answers } = redacted;
          return printLine(io.stdout, `Redacted directories: ${directories}, stored answers: ${answers}.`);
        }
        const redacted = await redactVersion(database, tenant, subject.version, operatorOrigin());
        if (json) return printJson(io.stdout, redacted);
        printLine(io.stdout, `Redacted versions: ${redacted.versions}, stored answers: ${redacted.answers}.`);
        if (redacted.samePath > 0) {
          printLine(
            io.stdout,
            `Other versions that still have a redacted path: ${redacted.samePath}. Redact them too if it is a secret.`,
          );
        }
      }),
    );
}

function subjectArgument(value: string): Subject {
  return value.startsWith('/')
    ? { kind: 'path', path: memoryPath(value) }
    : { kind: 'version', version: value };
}
