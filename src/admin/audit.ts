import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { type AuditSubject, beginAudit, type OpenAuditEvent } from '../audit/audit.ts';
import type { Database } from '../postgres/database.ts';
import { administratorOf } from './authentication.ts';
import { isReading } from './permissions.ts';

declare module 'fastify' {
  interface FastifyRequest {
    audit: { subject: AuditSubject; event: OpenAuditEvent | undefined } | undefined;
  }
}

/**
 * Records each request that changes something in the audit trail: before its handler runs, and again with its outcome before the response
 * is sent, or after a response that is streamed. Also names the operation, the tenant and the key in the log.
 */
export const audit = fp<{ database: Database }>(
  async (app, { database }) => {
    app.decorateRequest('audit');

    app.addHook('preHandler', async (request) => {
      const action = request.routeOptions.schema?.operationId;
      const { tenant, id: key } = request.params as { tenant?: string; id?: string };
      if (action !== undefined) request.logEntry.command = action;
      if (tenant !== undefined) request.logEntry.tenant = tenant;
      if (key !== undefined) request.logEntry.key = key;
      if (isReading(request) || action === undefined) return;
      request.audit = { subject: { tenant, key }, event: undefined };
      request.audit.event = await beginAudit(
        database,
        {
          actor: administratorOf(request).actor,
          action,
          channel: request.headers['sec-fetch-site'] === 'same-origin' ? 'console' : 'admin_api',
          address: request.ip,
          requestId: request.id,
          dryRun: isDryRun(request),
        },
        { tenant, key },
      );
    });

    app.addHook('onSend', async (request, reply, payload) => {
      const isStream = typeof payload === 'object' && payload !== null && 'pipe' in payload;
      if (!isStream) await finish(request, reply);
      return payload;
    });
    app.addHook('onResponse', finish);
  },
  { name: 'audit', dependencies: ['admin-authentication', 'access-log'] },
);

async function finish(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { event, subject } = request.audit ?? {};
  if (event === undefined || subject === undefined) return;
  request.audit = undefined;
  const failed = reply.statusCode >= 400 ? String(reply.statusCode) : 'ok';
  try {
    await event.finish(request.logEntry.outcome ?? failed, subject);
  } catch (error) {
    // The change is made, and its record says that it began. The caller must not repeat it.
    request.log.error(
      { reqId: request.id, fault: (error as Error).name },
      'the outcome of a change is not recorded',
    );
  }
}

function isDryRun({ body, query }: FastifyRequest): boolean {
  return [body, query].some(
    (each) => typeof each === 'object' && each !== null && 'dry_run' in each && each.dry_run === true,
  );
}

/** Says what the change of a request is about, for the audit trail and the log. */
export function noteAudit(request: FastifyRequest, { tenant, key, details }: AuditSubject): void {
  if (tenant !== undefined) request.logEntry.tenant = tenant;
  if (key !== undefined) request.logEntry.key = key;
  if (request.audit === undefined) return;
  const { subject } = request.audit;
  request.audit.subject = {
    tenant: tenant ?? subject.tenant,
    key: key ?? subject.key,
    details: { ...subject.details, ...details },
  };
}
