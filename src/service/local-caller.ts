import { hostname } from 'node:os';
import {
  type AdminCall,
  type AdminOperation,
  type AnyAdminOperation,
  isDryRun,
  needsTenant,
} from '../core/admin/admin-operation.ts';
import { validate } from '../core/admin/validation.ts';
import type { CallInput, Connect } from '../core/cli/caller.ts';
import { type Open, operatorOrigin } from '../core/cli/cli-session.ts';
import type { Io } from '../core/cli/io.ts';
import { printLine } from '../core/cli/output.ts';
import { type Config, collectorFor } from '../core/config.ts';
import type { Database } from '../core/database/database.ts';
import { OperatorError } from '../core/errors/errors.ts';
import { Services } from '../core/files/services.ts';
import { MergeThreads } from '../core/history/line-merge.ts';
import { compare } from '../core/history/patch.ts';
import { type AuditSubject, runAudited } from '../core/tenants/audit.ts';
import { requireTenant } from '../core/tenants/tenants.ts';
import { loadSecretScanner } from '../features/secrets/load-scanner.ts';

/** Returns a function that opens the configured database and runs operations on it as the operator. */
export function localCaller(open: Open, io: Io): Connect {
  return async () => {
    const { config, database } = await open();
    const auditLogs = await startAuditLogs(config, io);
    const merges = new MergeThreads();
    let opened: Promise<Services> | undefined;
    const load = async () => new Services(config, database, await loadSecretScanner());
    const services = () => {
      opened ??= load();
      return opened;
    };
    return {
      call: (operation, input) => callOn({ config, database, services, merges }, io, operation, input),
      local: { database, config },
      async close() {
        await Promise.all([merges.close(), (await opened)?.close(), auditLogs?.stop()]);
        await database.close();
      },
    };
  };
}

/**
 * Sends the command's audit trail events to the collector. The import is deferred, so that without a collector
 * OpenTelemetry is not loaded.
 */
async function startAuditLogs(config: Config, io: Io): Promise<{ stop(): Promise<void> } | undefined> {
  const endpoint = collectorFor('LOGS', config);
  if (endpoint === undefined) return undefined;
  const { startAuditLogs: start } = await import('../features/telemetry/audit-logs.ts');
  const warn = ({ collector, reason }: { collector?: unknown; reason?: unknown }) =>
    printLine(io.stderr, `Warning: the collector at ${collector} takes no audit logs (${reason}).`);
  // A pending export keeps the process running.
  return start(config, endpoint, { warn, info: () => {} }, { timeoutMillis: 2000 });
}

async function callOn<Params, Query, Body, Output extends object | null, Headers>(
  session: { config: Config; database: Database; services(): Promise<Services>; merges: MergeThreads },
  io: Io,
  operation: AdminOperation<Params, Query, Body, Output, Headers>,
  given: CallInput<Params, Query, Body, Headers>,
): Promise<Output> {
  const input = {
    params: parsePart<Params>(operation, 'params', given.params),
    query: parsePart<Query>(operation, 'query', given.query),
    body: parsePart<Body>(operation, 'body', given.body),
    headers: parsePart<Headers>(operation, 'headers', given.headers),
  };
  const { tenant, id: key } = input.params as { tenant?: string; id?: string };
  const run = async (note: AdminCall<Params, Query, Body, Headers>['note']) => {
    const { origin, administrator } = operator();
    const row =
      tenant !== undefined && needsTenant(operation)
        ? await requireTenant(session.database, tenant)
        : undefined;
    return operation.run({
      ...session,
      ...input,
      administrator,
      origin,
      get tenant() {
        if (row === undefined) throw new Error(`${operation.id} is not an operation of a tenant.`);
        return row;
      },
      compare,
      inSlot: (work) => work(),
      onProgress: given.onProgress,
      signal: new AbortController().signal,
      note,
    });
  };
  if (operation.method === 'GET') return run(() => {});
  const intent = {
    actor: operator().administrator.actor,
    action: operation.id,
    channel: 'command_line',
    address: hostname(),
    requestId: null,
    dryRun: isDryRun(input),
  } as const;
  const subject: AuditSubject = { tenant: tenant ?? operation.auditedTenant?.(input.body), key };
  return runAudited(session.database, intent, subject, run, {
    describeOutcome: (error) => (error instanceof OperatorError ? 'rejected' : undefined),
    onUnrecorded: () =>
      printLine(io.stderr, 'Warning: the outcome of this command could not be recorded in the audit trail.'),
  });
}

/** Returns the operator with full access, and the origin for the operator's changes. */
function operator() {
  const origin = operatorOrigin();
  return {
    origin,
    administrator: { actor: origin.actor, access: 'read_write', onlyTenants: null } as const,
  };
}

const PARTS = { params: 'params', query: 'querystring', body: 'body', headers: 'headers' } as const;

function parsePart<T>(operation: AnyAdminOperation, part: keyof typeof PARTS, given: unknown): T {
  const schema = operation[part];
  if (schema === undefined) return {} as T;
  return validate(schema, PARTS[part], given ?? {}) as T;
}
