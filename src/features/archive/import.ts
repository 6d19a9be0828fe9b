import type { Config } from '../../core/config.ts';
import type { Database } from '../../core/database/database.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import type { Origin } from '../../core/memory/origin.ts';
import type { MemoryPath } from '../../core/memory/path.ts';
import { type KeptOutTexts, redactionFor } from '../../core/memory/secrets/kept-out.ts';
import { mask } from '../../core/memory/secrets/secrets.ts';
import { effectiveSettings, tenantDefaults } from '../../core/tenants/effective-settings.ts';
import type { TenantRow } from '../../core/tenants/queries.ts';
import type { EffectiveSettings } from '../../core/tenants/settings.ts';
import { quotaExceeded } from '../../core/tenants/tenants.ts';
import { loadSecretScanner } from '../secrets/load-scanner.ts';
import type { SourceEntry } from './entry.ts';
import { type ImportContext, type Imported, writeImport } from './import-transaction.ts';
import { type ImportRules, type Inspected, prepareImport } from './prepare-import.ts';

export interface ImportOptions
  extends Pick<ImportRules, 'into' | 'strip' | 'onChanged' | 'onLeftOut' | 'onProgress'> {
  origin: Origin;
  dryRun: boolean;
  /** Called during the write, after the whole source has been checked. */
  onWritten?: ImportContext['onWritten'];
}

interface ImportSession {
  config: Config;
  tenant: TenantRow;
  database: Database;
  /** Texts that are kept out of the memory; undefined for none. */
  keptOut?: KeptOutTexts | undefined;
  /** Waits for permission to write the checked archive. */
  inTurn?: <T>(write: () => Promise<T>) => Promise<T>;
}

export interface ImportedArchive {
  files: number;
  bytes: number;
  filePaths: MemoryPath[];
  /** Created directories. */
  directories: string[];
  /** Null if no history was imported. */
  versions: number | null;
  /**
   * Reason why the archive's history was not imported; null if the history was imported or the archive has none.
   */
  historyLeftOut: string | null;
  /** Time at which the files were created; null for an imported history. */
  changedAt: string | null;
}

/**
 * Imports files and directories into a tenant's memory: all, or none if an entry is invalid or already exists. The
 * limits and rules are the same as for requests.
 *
 * @throws ServiceError naming the first entry that cannot be imported, with the reason
 */
export async function importEntries(
  { config, database, tenant, keptOut, inTurn = (write) => write() }: ImportSession,
  source: AsyncIterable<SourceEntry>,
  { origin, dryRun, onWritten, ...rules }: ImportOptions,
): Promise<ImportedArchive> {
  const {
    maxFileBytes,
    maxFiles,
    maxBytes,
    secrets: secretsMode,
    historyDays,
  } = effectiveSettings(tenant, config);
  const prepared = await prepareImport(source, {
    ...rules,
    tenant: tenant.id,
    maxFileBytes,
    maxFiles,
    maxBytes,
    inspect: await inspectorFor(secretsMode, keptOut),
  });
  try {
    const history = historyDays === 0 ? undefined : prepared.history;
    // Checked again, because the archive may have arrived slowly.
    const check = (current: TenantRow) => {
      if (current.createdAt !== tenant.createdAt) throw new ServiceError('tenant_replaced', tenant.id);
      if (effectiveSettings(current, config).secrets !== secretsMode)
        throw new ServiceError('secrets_setting_changed', tenant.id);
    };
    const imported = await inTurn(() =>
      writeImport(
        database,
        tenant.id,
        { ...prepared, history },
        { quotas: tenantDefaults(config), origin, dryRun, onWritten, check },
      ),
    );
    const { files, bytes, directories, versions, changedAt } = requireImported(imported, tenant.id);
    const filePaths = [...prepared.entries].flatMap(([path, { kind }]) => (kind === 'file' ? [path] : []));
    const isLeftOut = prepared.history !== undefined && versions === null;
    const reason = historyDays === 0 ? 'keeps no history' : 'has files or its own history';
    const historyLeftOut = isLeftOut ? reason : null;
    return { files, bytes, filePaths, directories, versions, historyLeftOut, changedAt };
  } finally {
    await prepared.close();
  }
}

/** Creates a function that applies the tenant's policy on secrets to a text. Undefined if the policy stores secrets. */
export async function inspectorFor(secretsMode: EffectiveSettings['secrets'], keptOut?: KeptOutTexts) {
  const redaction = redactionFor(secretsMode, await loadSecretScanner(), keptOut);
  if (redaction === undefined) return undefined;
  return async (text: string): Promise<Inspected> => {
    const secrets = await redaction.scanner.scan(text);
    const kinds = [...new Set(secrets.map(({ kind }) => kind))];
    return {
      isRejected: redaction.mode === 'reject' && secrets.length > 0,
      kinds,
      masked: mask(text, secrets),
    };
  };
}

/** @throws ServiceError if no entries were imported */
function requireImported(imported: Imported, tenant: string) {
  switch (imported.kind) {
    case 'imported':
      return imported;
    case 'exists':
      throw new ServiceError('paths_in_use', imported.paths, imported.total);
    case 'over_quota':
      throw quotaExceeded(tenant, imported, 'import');
  }
}
