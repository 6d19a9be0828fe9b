import { existsSync, realpathSync } from 'node:fs';
import { type Cli, command } from '../../../core/cli/cli-command.ts';
import { runAudited } from '../../../core/cli/cli-session.ts';
import type { Io } from '../../../core/cli/io.ts';
import { printJson, printLine } from '../../../core/cli/output.ts';
import type { Database } from '../../../core/database/database.ts';
import { OperatorError } from '../../../core/errors/errors.ts';
import { amount, byteAmount } from '../../../core/lib/units.ts';
import { type Migrated, type MigrationProgress, migrateData } from '../migrate-data.ts';

interface Options {
  from?: string;
  to?: string;
  json?: boolean;
}

export const migrateDataCommand = (cli: Cli) =>
  command(
    cli,
    'migrate-data',
    'Copy all data of an embedded database into Postgres or Citus, or back: tenants with their settings, files and history, keys, audit events, usage, and the stored results of writes. The source is left unchanged.',
  )
    .option('--from <place>', 'a directory (DATA_DIR) or a URL (postgres://…); default: DATA_DIR')
    .option(
      '--to <place>',
      'a URL or a directory; default: DATABASE_URL, which keeps its password out of the shell',
    )
    .option('--json', 'print JSON: the rows of each table, and a SHA-256 of them')
    .addHelpText(
      'after',
      `
The target is migrated first. It may already contain part of the source, from an interrupted run: run the command again to continue with the first missing
tenant. Each tenant is copied in one transaction, which commits only if the rows of both databases match in number and hash.`,
    )
    .examples(
      'DATABASE_URL=postgres://user:password@localhost/memory memory-service migrate-data --from ./data',
      'memory-service migrate-data --from postgres://user:password@localhost/memory --to ./copy',
    )
    .action(async (options: Options) => {
      const from = options.from ?? (process.env.DATA_DIR || './data');
      const to = options.to ?? process.env.DATABASE_URL;
      if (!to) throw new OperatorError('Name the target with --to, or set DATABASE_URL.');
      if (isSame(from, to)) throw new OperatorError('The source and the target are the same database.');
      const source = await cli.openPlace(from, { migrate: false });
      try {
        const target = await cli.openPlace(to, { migrate: true });
        try {
          report(await migrate(source, target, cli.io), options, cli.io);
        } finally {
          await target.close();
        }
      } finally {
        await source.close();
      }
    });

/**
 * Whether two places are the same. Paths are resolved, because opening one embedded database twice would destroy it.
 */
function isSame(from: string, to: string): boolean {
  if (from === to) return true;
  return [from, to].every((place) => existsSync(place)) && realpathSync(from) === realpathSync(to);
}

function migrate(source: Database, target: Database, io: Io): Promise<Migrated> {
  return runAudited({ database: target, io }, 'migrateData', {}, async (note) => {
    const progress = new Lines(io);
    const migrated = await migrateData(source, target, (now) => progress.update(now)).finally(() =>
      progress.end(),
    );
    if (migrated === undefined) {
      throw new OperatorError('Another process is copying data into the target. Wait until it finishes.');
    }
    const { tenants, alreadyThere, rows, bytes } = migrated;
    note({ details: { tenants, already_there: alreadyThere, rows, bytes } });
    return migrated;
  });
}

function report(migrated: Migrated, { json }: Options, io: Io): void {
  if (json) {
    printJson(io.stdout, migrated);
    return;
  }
  const { tenants, alreadyThere, rows, bytes } = migrated;
  const before = alreadyThere === 0 ? '' : ` (${alreadyThere} from before)`;
  printLine(
    io.stdout,
    `Both databases have ${amount(tenants, 'tenant')}${before} with ${amount(rows, 'row')}, ${byteAmount(bytes)}: compared by number and SHA-256.`,
  );
}

/** Rows between two progress lines if the output is not a terminal. */
const ROWS_A_LINE = 100_000;

/** Shows the progress on one updated line in a terminal, or otherwise as lines at intervals. */
class Lines {
  readonly #io: Io;
  #last: MigrationProgress = { tenants: 0, of: 0, rows: 0 };

  constructor(io: Io) {
    this.#io = io;
  }

  update(now: MigrationProgress): void {
    const { stderr } = this.#io;
    const { tenants, of, rows } = now;
    const line = `Copied ${tenants} of ${amount(of, 'tenant')}, ${amount(rows, 'row')}`;
    if (stderr.isTTY) stderr.write(`\r${line}`);
    else if (shouldPrintProgress(this.#last, now)) printLine(stderr, `${line}.`);
    else return;
    this.#last = now;
  }

  end(): void {
    if (this.#io.stderr.isTTY) this.#io.stderr.write('\r\u001b[K');
  }
}

function shouldPrintProgress(last: MigrationProgress, { tenants, of, rows }: MigrationProgress): boolean {
  return rows - last.rows >= ROWS_A_LINE || (tenants - last.tenants) * 10 >= of;
}
