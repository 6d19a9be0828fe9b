import { Option } from 'commander';
import { type ImportedArchive, inspectorFor } from '../archive/import.ts';
import { isUntouchedQuery } from '../archive/import-transaction.ts';
import { printable, type SourceEntry } from '../archive/source/entry.ts';
import { hasReason, OperatorError } from '../errors.ts';
import { HostedClient, HostedStoreError } from '../hosted/client.ts';
import { HostedSource } from '../hosted/source.ts';
import { HostedStore } from '../hosted/store.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import { effectiveSettings } from '../tenants/effective-settings.ts';
import { amount } from '../util/amount.ts';
import { type Io, Progress } from './io.ts';
import type { TenantSession } from './session.ts';
import { tenantFiles } from './tenant-files.ts';

/** A pause that is shorter needs no words. */
const SHOWN_PAUSE_MS = 2000;
/** How many paths a message lists. */
const LISTED = 20;

export interface HostedOptions {
  fromStore?: string;
  storeUrl: string;
  /** False with `--no-history`. */
  history: boolean;
  into?: MemoryPath;
}

export const storeUrlOption = () =>
  new Option('--store-url <url>', 'where the store is').default(
    process.env.ANTHROPIC_BASE_URL ?? 'https://api.anthropic.com',
  );

/** The key is that of `ANTHROPIC_API_KEY`, so that it is in no list of processes. */
export function hostedClient(url: string, io: Io): HostedClient {
  const key = process.env.ANTHROPIC_API_KEY;
  if (key === undefined || key === '')
    throw new OperatorError('Set ANTHROPIC_API_KEY to a key for the store.');
  // Messages show the URL.
  if (!/^https?:\/\/[^@?#]+$/.test(url) || !URL.canParse(url)) {
    throw new OperatorError(
      'The URL of the store (--store-url, ANTHROPIC_BASE_URL) must be an http(s) URL without a user, a password, and a query.',
    );
  }
  return new HostedClient(url, key, (milliseconds, why) => {
    if (milliseconds < SHOWN_PAUSE_MS) return;
    io.stderr.write(`Trying again in ${Math.round(milliseconds / 1000)} seconds (${why}).\n`);
  });
}

/** Returns a handler of errors that tells the operator what to do about those of a store. */
export function explainHosted(advice: string): (error: unknown) => never {
  return (error) => {
    throw error instanceof HostedStoreError ? new OperatorError(`${error.message}\n${advice}`) : error;
  };
}

/**
 * Opens a hosted store to import it. A tenant that has neither files nor a history gets all of it as of one moment; another one gets the
 * memories that it lacks.
 */
export async function openHosted(session: TenantSession, id: string, options: HostedOptions, io: Io) {
  const { config, database, tenant } = session;
  const { into, history } = options;
  const { historyDays } = effectiveSettings(tenant, config);
  const [untouched] = (await database.query(isUntouchedQuery, { tenant: tenant.id })).rows;
  const isUntouched = untouched?.isUntouched ?? false;
  const withVersions = history && into === undefined && isUntouched && historyDays > 0;
  const source = new HostedSource(new HostedStore(hostedClient(options.storeUrl, io), id));
  const progress = new Progress(io.stderr, 'Read', 'version');

  const entries: AsyncGenerator<SourceEntry> = withVersions
    ? source.withVersions((versions) => progress.update(versions))
    : source.missingFrom(await destinationOf(session, into));

  return {
    entries,
    withVersions,
    details: { store: id },
    /** Undefined when nothing was left to import. */
    explained: (importing: Promise<ImportedArchive>): Promise<ImportedArchive | undefined> =>
      importing
        .finally(() => progress.end())
        .catch((error: unknown) => {
          if (hasReason(error, 'archive_empty')) return undefined;
          if (!hasReason(error, 'history_damaged'))
            return explainHosted('Nothing was imported. Run the command again.')(error);
          throw new OperatorError(
            `The versions of ${id} do not fit together: ${error.values[0]}. Import only its memories, with --no-history.\nNothing was imported.`,
          );
        }),
    /** @throws OperatorError that lists what was left alone. */
    report: () => {
      const { unchanged, differing, versionsLeftOut } = source;
      const say = (text: string) => io.stderr.write(`${text}\n`);
      if (unchanged > 0) say(`Already in ${tenant.id}: ${amount(unchanged, 'memory', 'memories')} of ${id}.`);
      if (versionsLeftOut > 0)
        say(
          `${amount(versionsLeftOut, 'version')} with a path or a content that cannot be kept here were left out.`,
        );
      if (history && !withVersions) {
        const why =
          historyDays === 0
            ? 'keeps no history'
            : isUntouched
              ? 'is given another directory'
              : 'has files or a history of its own';
        say(`The versions of ${id} were not imported: ${tenant.id} ${why}.`);
      }
      refuseDiffering(differing, tenant.id);
    },
  };
}

async function destinationOf(session: TenantSession, into: MemoryPath | undefined) {
  const files = new Map<string, string>();
  for await (const { kind, path, sha256 } of tenantFiles(session, { withContent: false })) {
    if (kind === 'file') files.set(path, sha256);
  }
  const { secrets: secretsMode } = effectiveSettings(session.tenant, session.config);
  const inspect = await inspectorFor(secretsMode);
  return {
    files,
    placed: (path: string) => (into ?? ROOT) + path,
    masked: async (content: string) => (inspect === undefined ? content : (await inspect(content)).masked),
  };
}

function refuseDiffering(paths: readonly string[], tenant: string): void {
  if (paths.length === 0) return;
  throw new OperatorError(
    `These differ in ${tenant}, or are blocked by other files, and were left unchanged:${listed(paths)}`,
  );
}

/** Paths, line by line. */
export function listed(paths: readonly string[]): string {
  const lines = paths.slice(0, LISTED).map((path) => `\n  ${printable(path)}`);
  return lines.join('') + (paths.length > LISTED ? `\n  and ${paths.length - LISTED} more` : '');
}
