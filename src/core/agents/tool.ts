import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { ServiceError } from '../errors/errors.ts';
import { prefers } from '../http/accept.ts';
import { requireContext } from '../http/authentication.ts';
import { TooComplexInput } from '../http/json-limits.ts';
import type { CallerTrace, CommandDetails } from '../http/tracing.ts';
import { countRejection, countUse } from '../http/usage-counting.ts';
import { isObject } from '../lib/json.ts';
import { type MemoryContext, textProblem } from '../memory/commands/memory-command.ts';
import {
  invalidField,
  isMissing,
  mustBeAnObject,
  mustBeAString,
  tooComplexBlock,
  unknownTool,
} from '../memory/messages.ts';
import type { MemoryResult } from '../memory/result.ts';

/** The memory tool's name in `tool_use` blocks. */
export const MEMORY_TOOL = 'memory';

/** A feature's tool, whose calls arrive as `tool_use` blocks. */
export interface FeatureTool {
  name: string;
  /** Schema for a `tool_use` block, for the OpenAPI document. */
  blockSchema: z.ZodType;
  /** Whether the request's caller has the tool. By default, all callers have it. */
  isFor?(request: FastifyRequest): boolean;
  run(request: FastifyRequest, call: ValidCall): Promise<MemoryResult>;
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Tools from features, which `POST /execute` and MCP serve beside the memory tool. */
    tools: readonly FeatureTool[];
  }
}

/** Returns the features' tools that the request's caller has. */
export function toolsFor(request: FastifyRequest): readonly FeatureTool[] {
  return request.server.tools.filter(({ isFor }) => isFor?.(request) ?? true);
}

/** A tool's input, with the ID of its `tool_use` block if the input is part of a block. */
export interface ValidCall {
  /** Name of the memory tool, or of a feature's tool. */
  tool: string;
  input: Record<string, unknown>;
  toolUseId?: string;
  /** The trace that the call continues. By default, a call continues its request's trace. */
  callerTrace?: CallerTrace | undefined;
  /** Reads the memory for a program, in place of the command that `input` names. `input` has the read's path. */
  read?: ((context: MemoryContext) => Promise<MemoryResult>) | undefined;
}

/** A `tool_use` block with an ID but without valid input. */
export interface InvalidCall {
  /** The call's result, as a message for the model. */
  invalid: string;
  toolUseId: string;
}

export type ToolCall = ValidCall | InvalidCall;

/** Maximum number of `tool_use` blocks in a request. */
export const MAX_CALLS = 32;

/** Maximum length in UTF-16 code units. The Claude API's IDs (`toolu_…`) have about 30. */
export const MAX_ID_LENGTH = 255;

/**
 * Parses a body: an input, a `tool_use` block, or an array of blocks.
 *
 * @param tools the features' tools
 * @returns one call, or an array of calls for an array
 * @throws ServiceError 400 if the body has another form, or if a block lacks the ID that its result must name
 */
export function readToolCalls(body: unknown, tools: readonly FeatureTool[]): ToolCall | ToolCall[] {
  if (!Array.isArray(body)) return readToolCall(body, tools);
  if (body.length === 0 || body.length > MAX_CALLS) {
    throw notAMemoryInput(
      `the array holds ${body.length} tool_use blocks, and 1 to ${MAX_CALLS} are allowed`,
    );
  }
  return body.map((block: unknown, i) => {
    if (!isObject(block) || block.type !== 'tool_use')
      throw notAMemoryInput(`item ${i} of the array is not a tool_use block`);
    return readToolUse(block, tools, `item ${i} of the array: `);
  });
}

function readToolCall(body: unknown, tools: readonly FeatureTool[]): ToolCall {
  if (!isObject(body)) throw notAMemoryInput('it is not a JSON object');
  if (body.type === 'tool_use') return readToolUse(body, tools);
  if (!('command' in body)) throw notAMemoryInput('it has no `command`');
  return { tool: MEMORY_TOOL, input: body };
}

function readToolUse(
  { id, name, input }: Record<string, unknown>,
  tools: readonly FeatureTool[],
  at = '',
): ToolCall {
  if (typeof id !== 'string' || id === '') throw notAMemoryInput(`${at}the tool_use block has no \`id\``);
  if (id.length > MAX_ID_LENGTH) {
    throw notAMemoryInput(`${at}the tool_use block's \`id\` is longer than ${MAX_ID_LENGTH} characters`);
  }
  const tool = name === MEMORY_TOOL ? name : tools.find((each) => each.name === name)?.name;
  if (tool === undefined) return { invalid: describeUnknownTool(name, tools), toolUseId: id };
  const invalid = (problem: string) => ({ invalid: invalidField(tool, 'input', problem), toolUseId: id });
  const idProblem = textProblem(id);
  if (idProblem !== undefined) return { invalid: invalidField(tool, 'id', idProblem), toolUseId: id };
  if (input === undefined) return invalid(isMissing);
  if (input instanceof TooComplexInput) return { invalid: tooComplexBlock(input.excess), toolUseId: id };
  if (!isObject(input)) return invalid(mustBeAnObject);
  return { tool, input, toolUseId: id };
}

function describeUnknownTool(name: unknown, tools: readonly FeatureTool[]): string {
  if (name === undefined || name === null) return invalidField('tool_use', 'name', isMissing);
  if (typeof name !== 'string') return invalidField('tool_use', 'name', mustBeAString);
  return unknownTool(name, [MEMORY_TOOL, ...tools.map((tool) => tool.name)]);
}

export function notAMemoryInput(why: string): ServiceError {
  return new ServiceError('not_a_memory_input', why);
}

/** Runs one call and records its outcome in the log, the metrics, the usage, and the trace. */
export async function observe<Result extends Pick<MemoryResult, 'isError' | 'rejectedFor'>>(
  request: FastifyRequest,
  {
    tool,
    command,
    access,
    toolUseId,
    callerTrace,
  }: Pick<CommandDetails, 'tool' | 'command' | 'toolUseId' | 'callerTrace'> & {
    access: 'read' | 'write' | undefined;
  },
  work: () => Promise<Result>,
): Promise<Result> {
  const { principal, policy } = requireContext(request);
  noteCommand(request, command);
  const { createExisting } = policy;
  const trace = request.trace?.startCommand({
    tool,
    command,
    toolUseId,
    callerTrace,
    createExisting,
    tenant: principal.tenant,
  });
  const started = performance.now();
  let outcome: 'ok' | 'error' | 'fault' = 'fault';
  try {
    const result = await (trace === undefined ? work() : trace.run(work));
    outcome = result.isError ? 'error' : 'ok';
    if (result.rejectedFor !== undefined) countRejection(request, result.rejectedFor);
    else if (access !== undefined) countUse(request, access === 'read' ? 'reads' : 'writes');
    // If one of several calls fails, the request's log line reports the failure.
    if (request.logEntry.outcome !== 'error') request.logEntry.outcome = outcome;
    return result;
  } finally {
    const seconds = (performance.now() - started) / 1000;
    request.server.metrics.observeCommand(command, outcome, seconds, trace?.exemplar);
    request.server.activity.addDuration(command, seconds);
  }
}

/** Adds the command to the log line, after the same request's earlier commands. */
function noteCommand({ logEntry }: FastifyRequest, command: string): void {
  logEntry.command = logEntry.command === undefined ? command : `${logEntry.command},${command}`;
}

export function sendText(reply: FastifyReply, { content, isError }: MemoryResult): FastifyReply {
  return reply.header('X-Memory-Is-Error', String(isError)).type('text/plain; charset=utf-8').send(content);
}

export function sendJson(reply: FastifyReply, body: object): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(JSON.stringify(body));
}

export function wantsText({ headers }: FastifyRequest): boolean {
  return prefers(headers.accept, 'text/plain', 'application/json');
}
