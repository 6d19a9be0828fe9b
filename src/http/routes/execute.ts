import type { FastifyInstance, FastifyReply, onRequestAsyncHookHandler } from 'fastify';
import type { PostgresMemory } from '../../db/memory-store.ts';
import { ServiceError } from '../../errors.ts';
import { executeCommand, findCommand } from '../../memory/commands/index.ts';
import type { SecretScanner } from '../../memory/redactor.ts';
import type { MemoryResult } from '../../memory/result.ts';
import type { Metrics } from '../metrics.ts';
import { executeSchema } from '../openapi/execute-schema.ts';

/** A memory tool input, and the id of the `tool_use` block when it came in one. */
interface ToolCall {
  input: Record<string, unknown>;
  toolUseId?: string;
}

/** `POST /execute`: runs one memory command for the request's tenant. */
export function registerExecute(
  app: FastifyInstance,
  options: {
    memory: PostgresMemory;
    admission: onRequestAsyncHookHandler[];
    metrics: Metrics;
    scanner: SecretScanner;
  },
): void {
  const { memory, admission, metrics, scanner } = options;
  app.post('/execute', { schema: executeSchema, onRequest: admission }, async (request, reply) => {
    const { call } = request;
    if (request.admission === undefined) throw new Error('The route runs behind its admission hooks.');
    const { principal, policy } = request.admission;
    const { input, toolUseId } = readToolCall(request.body);
    const command = findCommand(input.command)?.name ?? 'unknown';
    call.command = command;
    call.paths = pathsIn(input);

    const started = performance.now();
    let outcome: 'ok' | 'error' | 'fault' = 'fault';
    try {
      const result = await executeCommand(input, {
        store: memory.forTenant(principal.tenant, principal),
        limits: policy.limits,
        access: principal.access,
        redaction: policy.redact === 'off' ? undefined : { mode: policy.redact, scanner },
      });
      outcome = result.isError ? 'error' : 'ok';
      call.outcome = outcome;
      const plain =
        request.headers.accept !== undefined &&
        request.accepts().type(['json', 'text/plain']) === 'text/plain';
      return plain ? sendText(reply, result) : sendJson(reply, result, toolUseId);
    } finally {
      metrics.observeCommand(command, outcome, (performance.now() - started) / 1000);
    }
  });
}

function sendText(reply: FastifyReply, { content, isError }: MemoryResult): FastifyReply {
  return reply.header('X-Memory-Is-Error', String(isError)).type('text/plain; charset=utf-8').send(content);
}

function sendJson(
  reply: FastifyReply,
  { content, isError }: MemoryResult,
  toolUseId: string | undefined,
): FastifyReply {
  const block = toolUseId === undefined ? {} : { type: 'tool_result', tool_use_id: toolUseId };
  return reply
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ ...block, content, is_error: isError }));
}

/**
 * Takes a bare input or a whole `tool_use` block.
 *
 * @throws ServiceError 400 for what is neither: that is the caller's mistake, not one that a model could put right.
 */
function readToolCall(body: unknown): ToolCall {
  if (!isObject(body)) throw notAMemoryInput('it is not a JSON object');
  if (body.type !== 'tool_use') {
    if (!('command' in body)) throw notAMemoryInput('it has no `command`');
    return { input: body };
  }
  if (typeof body.id !== 'string' || body.id === '') throw notAMemoryInput('the tool_use block has no `id`');
  if (body.name !== 'memory')
    throw notAMemoryInput('the tool_use block is for another tool: its `name` is not "memory"');
  if (!isObject(body.input)) throw notAMemoryInput("the tool_use block's `input` is not an object");
  return { input: body.input, toolUseId: body.id };
}

function notAMemoryInput(why: string): ServiceError {
  return new ServiceError(
    400,
    'not_a_memory_input',
    `The body is not a memory tool input: ${why}. Send {"command": "view", "path": "/memories"} or a whole tool_use block.`,
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function pathsIn({ path, old_path: from, new_path: to }: Record<string, unknown>): string[] {
  return [path, from, to].filter((each) => typeof each === 'string');
}
