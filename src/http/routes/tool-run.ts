import type { FastifyReply, FastifyRequest } from 'fastify';
import type { MemoryResult } from '../../memory/result.ts';
import type { CommandDetails } from '../../tracing/tracing.ts';
import { prefers } from '../accept.ts';
import { contextOf } from '../authentication.ts';
import type { Metrics } from '../metrics.ts';
import { countUse } from '../usage.ts';

/** Runs one call, and tells the log, the metrics, the usage and the trace what came of it. */
export async function measured<Result extends Pick<MemoryResult, 'isError' | 'isRefusal'>>(
  request: FastifyRequest,
  metrics: Metrics,
  {
    access,
    ...call
  }: Pick<CommandDetails, 'tool' | 'command' | 'toolUseId'> & { access: 'read' | 'write' | undefined },
  work: () => Promise<Result>,
): Promise<Result> {
  const { principal, policy } = contextOf(request);
  noteCommand(request, call.command);
  const { createExisting } = policy;
  const trace = request.trace?.startCommand({ ...call, createExisting, tenant: principal.tenant });
  const started = performance.now();
  let outcome: 'ok' | 'error' | 'fault' = 'fault';
  try {
    const result = await (trace === undefined ? work() : trace.run(work));
    outcome = result.isError ? 'error' : 'ok';
    if (result.isRefusal) countUse(request, 'refused');
    else if (access !== undefined) countUse(request, access === 'read' ? 'reads' : 'writes');
    // Of several calls in one request the log's line names a failure, if there was one.
    if (request.logEntry.outcome !== 'error') request.logEntry.outcome = outcome;
    return result;
  } finally {
    metrics.observeCommand(call.command, outcome, (performance.now() - started) / 1000, trace?.exemplar);
  }
}

/** For the log's line; several calls of one request are named one after the other. */
function noteCommand({ logEntry }: FastifyRequest, command: string): void {
  logEntry.command = logEntry.command === undefined ? command : `${logEntry.command},${command}`;
}

export function sendText(reply: FastifyReply, { content, isError }: MemoryResult): FastifyReply {
  return reply.header('X-Memory-Is-Error', String(isError)).type('text/plain; charset=utf-8').send(content);
}

export function sendJson(reply: FastifyReply, body: object): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(JSON.stringify(body));
}

/** Whether the caller prefers the text alone to JSON. */
export function wantsText({ headers }: FastifyRequest): boolean {
  return prefers(headers.accept, 'text/plain', 'application/json');
}
