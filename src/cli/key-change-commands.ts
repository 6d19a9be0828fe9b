import { type Command, InvalidArgumentError } from 'commander';
import { changedValues } from '../audit/audit.ts';
import { Keys } from '../auth/api-keys.ts';
import { parseDuration } from '../util/duration.ts';
import type { Io } from './io.ts';
import { expiry } from './key-create-command.ts';
import { printJson, printLine } from './output.ts';
import { audited, type Open, withDatabase } from './session.ts';

/** `keys update` and `keys rotate`. */
export function registerKeyChangeCommands(keys: Command, open: Open, io: Io): void {
  keys
    .command('update')
    .description('Change the label and the expiry of a key.')
    .argument('<id>', 'ID of the key, from `keys list`')
    .option('--label <text>', 'what the key is for')
    .option(
      '--expires <when>',
      'when the key expires: a duration (90d, 12h), a time, or never',
      expiryOrNever,
    )
    .addHelpText(
      'after',
      '\nExample:\n  memory-service keys update key_0123456789ab --label worker --expires 90d',
    )
    .action((id: string, options: { label?: string; expires?: Date | 'never' }, command: Command) => {
      const { label, expires } = options;
      if (label === undefined && expires === undefined) command.error('error: nothing to change');
      const expiresAt = expires === 'never' ? null : expires?.toISOString();
      return withDatabase(open, async ({ database }) => {
        await audited({ database, io }, 'updateKey', { key: id }, async (note) => {
          const before = await new Keys(database).update(id, { label, expiresAt });
          const after = {
            ...(label === undefined ? {} : { label }),
            ...(expiresAt === undefined ? {} : { expiresAt }),
          };
          note({ tenant: before.tenant ?? undefined, details: changedValues(before, after) });
        });
        printLine(io.stdout, `Changed key ${id}. It takes effect within AUTH_CACHE_SECONDS.`);
      });
    });

  keys
    .command('rotate')
    .description('Give a key a new secret and print it. The ID, the label and the rights stay.')
    .argument('<id>', 'ID of the key, from `keys list`')
    .option('--overlap <duration>', 'how long the previous secret still works: 0s, 1h, 7d', overlap, 0)
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  memory-service keys rotate key_0123456789ab --overlap 1h')
    .action((id: string, { overlap: overlapSeconds, json }: { overlap: number; json?: boolean }) =>
      withDatabase(open, async ({ database }) => {
        const subject = { key: id, details: { overlap_seconds: overlapSeconds } };
        const { key } = await audited({ database, io }, 'rotateKey', subject, async (note) => {
          const rotated = await new Keys(database).rotate(id, overlapSeconds);
          note({ tenant: rotated.tenant ?? undefined });
          return rotated;
        });
        if (json) return printJson(io.stdout, { id, key, overlapSeconds });
        printLine(io.stderr, `Rotated key ${id}. The new secret cannot be shown again:`);
        printLine(io.stdout, key);
      }),
    );
}

function expiryOrNever(value: string): Date | 'never' {
  return value === 'never' ? value : expiry(value);
}

const MAX_OVERLAP_MS = 7 * 24 * 60 * 60 * 1000;

/** Seconds. */
function overlap(value: string): number {
  const duration = value === '0' ? 0 : parseDuration(value);
  if (duration !== undefined && duration <= MAX_OVERLAP_MS) return Math.ceil(duration / 1000);
  throw new InvalidArgumentError('Use a duration of at most 7 days: 0s, 1h, 7d.');
}
