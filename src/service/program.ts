import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { type Connect, remoteCaller } from '../core/cli/caller.ts';
import type { Open, OpenPlace } from '../core/cli/cli-session.ts';
import { firstSentence } from '../core/cli/completion.ts';
import { hoistGlobalOptions } from '../core/cli/global-options.ts';
import { explain } from '../core/cli/hints.ts';
import { request } from '../core/cli/http-client.ts';
import { type Io, ignoreClosedReaders } from '../core/cli/io.ts';
import { printLine, sanitizeForTerminal } from '../core/cli/output.ts';
import { type AdminEnvironment, type AdminTarget, adminTarget, parseAdminUrl } from '../core/cli/profiles.ts';
import { describeDatabase } from '../core/database/database.ts';
import { capitalize, type LocalService } from '../core/database/open-database.ts';
import { OperatorError, ServiceError } from '../core/errors/errors.ts';
import { isObject } from '../core/lib/json.ts';
import { addCommands } from './features.ts';

/** Process functions and streams that the commands need. */
export interface CliContext {
  version: string;
  /** Opens the configured database and runs operations on it as the operator. */
  connectLocally: Connect;
  /** Finds the embedded database's running service. */
  findService?(): Promise<LocalService | undefined>;
  openMigrated: Open;
  openPlace: OpenPlace;
  serve(): Promise<void>;
  io: Io;
  env?: AdminEnvironment;
}

/** Exit codes: 0 for success, 1 for failure, and 2 for an invalid command line. Some commands have additional codes. */
const FAILED = 1;
const USAGE = 2;

/**
 * Runs a command line, which excludes the program's name.
 *
 * @returns the exit code; for `serve`, when the service listens
 */
export async function runProgram(args: string[], context: CliContext): Promise<number> {
  ignoreClosedReaders(context.io);
  try {
    const program = createProgram(context);
    await program.parseAsync(hoistGlobalOptions(program, args), { from: 'user' });
    return 0;
  } catch (error) {
    // Commander has already printed the error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE;
    const isExpected = error instanceof OperatorError || error instanceof ServiceError;
    if (!isExpected) throw error;
    const { stderr } = context.io;
    const message = error instanceof ServiceError ? explain(error) : error.message;
    printLine(stderr, `memory-service: ${sanitizeForTerminal(stderr, message)}`);
    return error instanceof OperatorError ? error.exitCode : FAILED;
  }
}

const NEEDS_DATABASE =
  'This command works on the database. Leave out --url, --profile, MEMORY_ADMIN_URL and MEMORY_PROFILE, and set DATABASE_URL or DATA_DIR.';

function adminUrl(value: string): string {
  if (parseAdminUrl(value) !== undefined) return value;
  throw new InvalidArgumentError('Use a URL such as https://admin.example.com.');
}

/**
 * Describes a running service's database, which the service migrated when it started.
 *
 * @throws OperatorError if the service has a different version
 */
async function describeMigrated({ url, service }: AdminTarget, version: string): Promise<string> {
  const response = await request(new URL('/openapi.json', url), {
    method: 'GET',
    headers: {},
    body: undefined,
    service,
  });
  const description: unknown = await response.json().catch(() => undefined);
  const info = isObject(description) && isObject(description.info) ? description.info : {};
  if (info.version === version) return `The embedded database in ${service?.directory} is up to date.`;
  throw new OperatorError(
    `The service on ${service?.directory} has version ${info.version}, and this command has ${version}. Restart it with this version.`,
  );
}

const EXAMPLES = `
Examples:
  memory-service serve
  memory-service tenants create acme
  memory-service keys create --tenant acme --label laptop
  memory-service ls acme
  memory-service log acme --since 2h
  memory-service restore acme --at 2h --dry-run
  memory-service tenants list --url https://admin.example.com

Each command shows examples: memory-service <command> --help`;

export function createProgram(context: CliContext): Command {
  const { version, serve, io, env = {} } = context;
  const remote = () => adminTarget(program.opts<{ url?: string; profile?: string }>(), env);
  const localTarget = async (): Promise<AdminTarget | undefined> => {
    const service = await context.findService?.();
    return service && { url: new URL('http://localhost'), key: undefined, service };
  };
  /** Wraps a function for commands that need the database, and rejects them if an admin API is chosen. */
  const onDatabase = <Args extends unknown[], T>(openIt: (...args: Args) => Promise<T>) => {
    return async (...args: Args) => {
      if (remote() !== undefined) throw new OperatorError(NEEDS_DATABASE);
      return openIt(...args);
    };
  };
  const openMigrated: Open = onDatabase(context.openMigrated);
  const openPlace: OpenPlace = onDatabase(context.openPlace);
  const connect: Connect = async () => {
    const target = remote() ?? (await localTarget());
    return target === undefined ? context.connectLocally() : remoteCaller(target)();
  };
  const program = new Command('memory-service')
    .description("The backend for Claude's memory tool: POST /execute over Postgres.")
    .version(version)
    .option(
      '--url <url>',
      'admin API to use instead of the database, such as https://admin.example.com',
      adminUrl,
    )
    .option('--profile <name>', 'admin API of a profile in your configuration (docs/command-line.md)')
    .addHelpText('after', EXAMPLES)
    .configureHelp({ subcommandDescription: (command) => firstSentence(command.description()) })
    // With positional options, a command can define its own option --version.
    .enablePositionalOptions();

  program
    .command('serve')
    .description(
      'Migrate the database, then serve HTTP until SIGTERM or SIGINT. Environment variables configure it.',
    )
    .addHelpText(
      'after',
      '\nExample:\n  DATABASE_URL=postgres://user:password@localhost/memory memory-service serve',
    )
    .action(serve);

  program
    .command('migrate')
    .description('Migrate the database and exit.')
    .addHelpText(
      'after',
      '\nExample:\n  DATABASE_URL=postgres://user:password@localhost/memory memory-service migrate',
    )
    .action(async () => {
      const local = remote() === undefined ? await localTarget() : undefined;
      if (local) return printLine(io.stdout, await describeMigrated(local, version));
      const { config, database } = await openMigrated();
      await database.close();
      printLine(io.stdout, `${capitalize(describeDatabase(config))} is up to date.`);
    });

  addCommands(program, { connect, openPlace, io });
  prepare(program, 'memory-service', io);
  return program;
}

/** Matches the start of commander's error for an invalid argument or option value. */
const REJECTED_ARGUMENT = /^error: command-argument value '(.*?)' is invalid for argument '([^']*)'\. /s;
const REJECTED_OPTION = /^error: option '([^']*)' argument '(.*?)' is invalid\. /s;

/** Rewrites a usage error from commander: `error: <path> cannot be 'notes.md'. Path must start with …`. */
function plainUsageError(text: string): string {
  return text
    .replace(REJECTED_ARGUMENT, (_, value, argument) => `error: <${argument}> cannot be '${value}'. `)
    .replace(REJECTED_OPTION, (_, flags: string, value) => {
      const flag = flags.split(/[ ,]+/).find((each) => each.startsWith('--'));
      return `error: ${flag} cannot be '${value}'. `;
    });
}

/** Makes commands print to `io`, throw instead of exiting, and report a usage error in one line with a hint. */
function prepare(command: Command, name: string, io: Io): void {
  command
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      outputError: (text, write) => write(plainUsageError(text)),
    })
    .showHelpAfterError(`See: ${name} --help`);
  for (const each of command.commands)
    prepare(each.copyInheritedSettings(command), `${name} ${each.name()}`, io);
}
