import { PassThrough } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { logFault, problemFor, problemOf } from '../http/problem-details.ts';

export const JSON_LINES = 'application/x-ndjson';

export type WriteLine = (line: object) => void;

/** Responds with lines of JSON: those that `work` writes, then its result or its error. */
export function sendLines(
  request: FastifyRequest,
  reply: FastifyReply,
  work: (write: WriteLine) => Promise<object>,
): FastifyReply {
  const lines = new PassThrough();
  const write: WriteLine = (line) => lines.write(`${JSON.stringify(line)}\n`);
  work(write)
    .then(
      (result) => write({ type: 'result', ...result }),
      (error) => write({ type: 'error', problem: failed(error, request) }),
    )
    .finally(() => lines.end());
  return reply.type(JSON_LINES).send(lines);
}

function failed(error: unknown, request: FastifyRequest): object {
  const problem = problemFor(error);
  request.logEntry.outcome = problem.code;
  if (problem.status >= 500) logFault(problem, request);
  return problemOf(problem, request.id);
}
