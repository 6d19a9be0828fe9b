import { isObject } from '../../core/lib/json.ts';

/** A field in a method's parameters. */
interface Field {
  type: 'string' | 'object';
  isOptional?: boolean;
  /** Value for a missing or null field. */
  default?: unknown;
}

const TEXT: Field = { type: 'string' };
const ARGUMENTS: Field = { type: 'object', default: {} };
const PAGE = { cursor: { type: 'string', isOptional: true } } as const;

/** Each method's parameters, if it has any, except for the metadata, which all methods share. */
const FIELDS = new Map<string, Readonly<Record<string, Field>>>([
  ['initialize', { protocolVersion: TEXT, capabilities: { type: 'object' }, clientInfo: { type: 'object' } }],
  ['ping', {}],
  ['server/discover', {}],
  ['tools/list', PAGE],
  ['tools/call', { name: TEXT, arguments: ARGUMENTS }],
  ['prompts/list', PAGE],
  ['prompts/get', { name: TEXT, arguments: ARGUMENTS }],
  ['resources/list', PAGE],
  ['resources/templates/list', PAGE],
  ['resources/read', { uri: TEXT }],
]);

/** Metadata for tasks, which the server does not offer. */
const TASK = 'io.modelcontextprotocol/related-task';

export type CheckedParams = { params: Record<string, unknown> } | { problem: string };

/**
 * Checks a request's parameters, and removes the parameters that the server does not use. Otherwise, the SDK would
 * report an internal error with its validator's output.
 *
 * @returns undefined for methods that the server does not know
 */
export function checkParams(method: string, given: unknown): CheckedParams | undefined {
  const fields = FIELDS.get(method);
  if (fields === undefined) return undefined;
  const malformed = checkForm(given);
  if (malformed !== undefined) return { problem: malformed };
  const { _meta: meta, ...rest } = isObject(given) ? given : {};
  const params: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const value = rest[name] === null ? (field.default ?? null) : (rest[name] ?? field.default);
    if (value === undefined) {
      if (!field.isOptional) return { problem: `The parameter \`${name}\` is missing.` };
    } else if (field.type === 'object' ? isObject(value) : typeof value === 'string') {
      params[name] = value;
    } else return { problem: wrongType(name, field.type, value) };
  }
  const problem = checkValues(method, params);
  if (problem !== undefined) return { problem };
  if (meta !== undefined) params._meta = meta;
  return { params };
}

/** Returns a message if parameters or their metadata have a type with which no message is valid. */
export function checkForm(params: unknown): string | undefined {
  if (params === undefined) return undefined;
  return isObject(params) ? checkMeta(params._meta) : wrongType('params', 'object', params);
}

function checkMeta(meta: unknown): string | undefined {
  if (meta === undefined) return undefined;
  if (!isObject(meta)) return wrongType('_meta', 'object', meta);
  const { progressToken: token, [TASK]: task } = meta;
  const isToken = token === undefined || typeof token === 'string' || Number.isSafeInteger(token);
  if (!isToken) return 'The parameter `_meta.progressToken` must be a string or an integer.';
  const isTask = task === undefined || (isObject(task) && typeof task.taskId === 'string');
  return isTask ? undefined : `The parameter \`_meta["${TASK}"]\` must name a task.`;
}

/** Checks and reduces parameter values. */
function checkValues(method: string, params: Record<string, unknown>): string | undefined {
  if (params.cursor !== undefined) return 'The parameter `cursor` names no page: the whole list is one page.';
  // The prompt has no arguments.
  if (method === 'prompts/get') params.arguments = {};
  if (method !== 'initialize') return undefined;
  const { name, version } = params.clientInfo as Record<string, unknown>;
  if (typeof name !== 'string') return wrongType('clientInfo.name', 'string', name);
  if (typeof version !== 'string') return wrongType('clientInfo.version', 'string', version);
  params.clientInfo = { name, version };
  // The server uses no client capability.
  params.capabilities = {};
  return undefined;
}

function wrongType(name: string, type: Field['type'], value: unknown): string {
  if (value === undefined) return `The parameter \`${name}\` is missing.`;
  return `The parameter \`${name}\` must be ${withArticle(type)}, not ${withArticle(typeName(value))}.`;
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function withArticle(type: string): string {
  if (type === 'null') return type;
  return `${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}`;
}
