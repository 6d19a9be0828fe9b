import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { z } from 'zod';
import type { Database } from '../database/database.ts';
import { ServiceError } from '../errors/errors.ts';
import { auditIntent, logUnrecorded } from '../http/audit-intent.ts';
import {
  type AuditIntent,
  type AuditSubject,
  beginAudit,
  type OpenAuditEvent,
  recordRejection,
} from '../tenants/audit.ts';
import { requireAdministrator } from './admin-authentication.ts';
import { isReading } from './permissions.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The request's audit event, until its outcome is recorded. */
    auditEvent: OpenAuditEvent | undefined;
  }
  interface FastifyContextConfig {
    /** Returns the tenant named by the body, for routes without a tenant in the URL. */
    auditedTenant?(body: unknown): string | undefined;
  }
}

/**
 * Records each changing request in the audit trail, before its handler runs and with its outcome before the response. A
 * handler that streams its response calls `finishAudit` itself. A request without the necessary access is recorded as
 * rejected. The plugin also adds the operation, tenant, and key to the log line.
 */
export const audit = fp<{ database: Database }>(
  async (app, { database }) => {
    app.decorateRequest('auditEvent');

    app.addHook('preHandler', async (request) => {
      const action = request.routeOptions.schema?.operationId;
      const { auditedTenant } = request.routeOptions.config;
      const { tenant = auditedTenant?.(request.body), id: key } = request.params as UrlParams;
      if (action !== undefined) request.logEntry.command = action;
      noteInLog(request, { tenant, key });
      if (isReading(request) || action === undefined) return;
      const intent = requestIntent(request, isDryRun(request));
      request.auditEvent = await beginAudit(database, intent, { tenant, key }, logUnrecorded(request));
    });

    app.addHook('onError', async (request, _reply, error) => {
      const isNotPermitted = error instanceof ServiceError && error.status === 403;
      const { administrator, auditEvent } = request;
      if (!isNotPermitted || isReading(request) || administrator === undefined || auditEvent !== undefined)
        return;
      const intent = requestIntent(request, false);
      await recordRejection(database, intent, validSubject(request), error.code).catch(
        logUnrecorded(request),
      );
    });

    app.addHook('onSend', async (request, reply, payload) => {
      const isStream = typeof payload === 'object' && payload !== null && 'pipe' in payload;
      if (!isStream) await finishAudit(request, reply);
      return payload;
    });
  },
  { name: 'audit', dependencies: ['admin-authentication', 'access-log'] },
);

interface UrlParams {
  tenant?: string;
  id?: string;
}

/**
 * Returns the valid tenant and key in the URL. A request without the necessary access is rejected before validation and
 * before its body is read.
 */
function validSubject({ params, routeOptions: { schema } }: FastifyRequest): AuditSubject {
  const known = schema?.params as z.ZodType<UrlParams> | undefined;
  const { tenant, id: key } = known?.safeParse(params).data ?? {};
  return { tenant, key };
}

function requestIntent(request: FastifyRequest, dryRun: boolean): AuditIntent {
  const { actor, host } = requireAdministrator(request);
  if (host !== undefined)
    return { ...auditIntent(request, { actor, channel: 'command_line', dryRun }), address: host };
  // The raw headers are needed because `request.headers` contains only the headers that the route declares.
  const isConsole = request.raw.headers['sec-fetch-site'] === 'same-origin';
  return auditIntent(request, { actor, channel: isConsole ? 'console' : 'admin_api', dryRun });
}

/** Records a request's outcome when its work ends, which may be long after the client disconnected. */
export async function finishAudit(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const event = request.auditEvent;
  request.auditEvent = undefined;
  const failed = reply.statusCode >= 400 ? String(reply.statusCode) : 'ok';
  await event?.finish(request.logEntry.outcome ?? failed);
}

function isDryRun({ body, query }: FastifyRequest): boolean {
  return [body, query].some(
    (each) => typeof each === 'object' && each !== null && 'dry_run' in each && each.dry_run === true,
  );
}

/** Adds a change's subject to the audit trail and the log. */
export function noteAudit(request: FastifyRequest, subject: AuditSubject): void {
  noteInLog(request, subject);
  request.auditEvent?.note(subject);
}

function noteInLog({ logEntry }: FastifyRequest, { tenant, key }: AuditSubject): void {
  if (tenant !== undefined) logEntry.tenant = tenant;
  if (key !== undefined) logEntry.key = key;
}
