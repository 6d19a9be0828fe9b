import { hasHidden, hiddenParts } from '../text/visible.tsx';
import { type ApiRequest, toUrl } from './api-client.ts';

/* Turns a console request into a command for a POSIX shell. The admin key is a shell variable. */

const KEY = '$ADMIN_KEY';
/** Separates the lines in a command. */
const NEXT_LINE = ' \\\n  ';
const SAFE = /^[\w@%+=:,./-]+$/;

/**
 * Quotes a word for a POSIX shell. Invisible characters are written as octal numbers, so that the command shows them,
 * and a terminal does not interpret them.
 */
export function quoteWord(word: string): string {
  if (SAFE.test(word)) return word;
  if (word === '') return "''";
  return hiddenParts(word)
    .map(({ text, isHidden }) =>
      isHidden ? `"$(printf '${toOctal(text)}')"` : `'${text.replaceAll("'", `'\\''`)}'`,
    )
    .join('');
}

function toOctal(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return Array.from(bytes, (byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
}

/** Formats a value as JSON in which invisible characters are escaped. */
export function visibleJson(value: unknown): string {
  const json = JSON.stringify(value);
  if (!hasHidden(json)) return json;
  return hiddenParts(json)
    .map(({ text, isHidden }) => (isHidden ? escapeUnits(text) : text))
    .join('');
}

function escapeUnits(text: string): string {
  const units = Array.from({ length: text.length }, (_, i) => text.charCodeAt(i));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}

/**
 * Returns a request as a curl command.
 *
 * @param base the console's base URL
 */
export function toCurl({ method, path, query, headers = {}, json, body }: ApiRequest, base: string): string {
  const url = new URL(toUrl(path, query), base).href;
  const content =
    json !== undefined
      ? [`-H 'Content-Type: application/json'`, `-d ${quoteWord(visibleJson(json))}`]
      : body !== undefined
        ? ['--data-binary @-']
        : [];
  const parts = [
    `curl -X ${method} ${quoteWord(url)}`,
    `-H "Authorization: Bearer ${KEY}"`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quoteWord(`${name}: ${value}`)}`),
    ...content,
  ];
  const input = json === undefined && body !== undefined ? `printf %s ${quoteWord(body)} | ` : '';
  return input + parts.join(NEXT_LINE);
}

/** Values by option. `true` is an option without a value; undefined omits the option. */
type Options = Record<string, string | number | true | readonly string[] | undefined>;

/** Command-line arguments for `memory-service`. */
interface CliCommand {
  words: string[];
  args?: (string | undefined)[];
  options?: Options;
  /** Text for standard input. */
  input?: string;
}

// biome-ignore lint/suspicious/noExplicitAny: The API has checked the body of each request by its schema.
type Body = any;
type ToCommand = (
  params: string[],
  request: Pick<ApiRequest, 'query' | 'headers' | 'body'> & { json: Body },
) => CliCommand | null;

/** Commands by request. `:` is a path parameter. */
const COMMANDS: Record<string, ToCommand> = {
  'POST tenants': (_, { json: { id, ...more } }) => ({
    words: ['tenants', 'create'],
    args: [id],
    options: tenantOptions(more),
  }),
  'PATCH tenants/:': ([tenant], { json }) => ({
    words: ['tenants', 'set'],
    args: [tenant],
    options: tenantOptions(json),
  }),
  'POST tenants/:/rename': ([tenant], { json: { to } }) => ({
    words: ['tenants', 'rename'],
    args: [tenant, to],
  }),
  'POST tenants/:/copy': ([tenant], { json: { to } }) => ({ words: ['tenants', 'copy'], args: [tenant, to] }),
  'POST tenants/:/suspend': (args) => ({ words: ['tenants', 'suspend'], args }),
  'POST tenants/:/resume': (args) => ({ words: ['tenants', 'resume'], args }),
  'DELETE tenants/:': (args) => ({ words: ['tenants', 'delete'], args }),
  'PUT tenants/:/mounts/:': (
    [tenant, name],
    { json: { tenant: mounted, access, prefix, instructions } },
  ) => ({
    words: ['tenants', 'mount'],
    args: [tenant, mounted],
    options: { name, access, prefix, instructions: instructions || undefined },
  }),
  'DELETE tenants/:/mounts/:': (args) => ({ words: ['tenants', 'unmount'], args }),
  'POST tenants/:/invitations': (args, { json: { access, prefix, reusable, expires_in_seconds } }) => ({
    words: ['invitations', 'create'],
    args,
    options: { access, prefix, reusable: reusable || undefined, expires: `${expires_in_seconds}s` },
  }),
  'DELETE tenants/:/invitations/:': (args) => ({ words: ['invitations', 'revoke'], args }),
  'POST tenants/:/shares': ([tenant], { json: { token, name, instructions } }) => ({
    words: ['shares', 'accept'],
    args: [tenant, name],
    options: { instructions: instructions || undefined },
    input: token,
  }),
  'DELETE tenants/:/shares/:': (args) => ({ words: ['shares', 'end'], args }),
  'POST keys': (_, { json }) => ({
    words: ['keys', 'create'],
    options: {
      ...(json.kind === 'tenant' ? { tenant: json.tenant } : { [json.kind]: true }),
      access: json.access,
      'manage-stores': json.manages_stores || undefined,
      share: json.can_share || undefined,
      right: rightOptions(json.rights),
      'only-tenants': json.tenants?.join(','),
      label: json.label || undefined,
      source: json.source || undefined,
      expires: json.expires_at ?? undefined,
    },
  }),
  'PATCH keys/:': (args, { json: { label, expires_at, rights } }) => ({
    words: ['keys', 'update'],
    args,
    options: {
      label,
      expires: expires_at === null ? 'never' : expires_at,
      right: rightOptions(rights),
      'remove-rights': rights?.length === 0 || undefined,
    },
  }),
  'POST keys/:/rotate': (args, { json: { overlap_seconds } }) => ({
    words: ['keys', 'rotate'],
    args,
    options: { overlap: `${overlap_seconds}s` },
  }),
  'DELETE keys/:': (args) => ({ words: ['keys', 'revoke'], args }),
  'POST webhooks': (_, { json: { url, tenant, types, path, content } }) => ({
    words: ['webhooks', 'create'],
    args: [url],
    options: {
      tenant: tenant ?? undefined,
      type: types ?? undefined,
      path: path ?? undefined,
      content: content || undefined,
    },
  }),
  'PATCH webhooks/:': (args, { json: { enabled } }) => ({
    words: ['webhooks', enabled ? 'enable' : 'disable'],
    args,
  }),
  'DELETE webhooks/:': (args) => ({ words: ['webhooks', 'delete'], args }),
  'POST webhooks/:/rotate': (args, { json: { overlap_seconds } }) => ({
    words: ['webhooks', 'rotate'],
    args,
    options: { overlap: `${overlap_seconds}s` },
  }),
  'POST webhooks/:/redeliver': (args, { json: { since } }) => ({
    words: ['webhooks', 'redeliver'],
    args,
    options: { since },
  }),
  'POST tenants/:/versions/:/redact': (args) => ({ words: ['redact'], args }),
  'POST tenants/:/restore': ([tenant], { json: { path, at, version, plan } }) => ({
    words: ['restore'],
    args: [tenant, path],
    options: { at, version, plan },
  }),
  'POST tenants/:/revert': ([tenant], { json: { by, source, since, until, plan, resolutions = [] } }) =>
    // The command names files by path, and a resolution by ID.
    resolutions.length > 0
      ? null
      : { words: ['revert'], args: [tenant], options: { by, source, since, until, plan } },
  'POST tenants/:/drafts/:/merge': (args, { json: { review, resolutions } }) =>
    resolutions.length > 0 ? null : { words: ['drafts', 'merge'], args, options: { review } },
  'POST tenants/:/drafts/:/replace': (args, { json: { review } }) => ({
    words: ['drafts', 'replace'],
    args,
    options: { review },
  }),
  'POST tenants/:/drafts/:/close': (args) => ({ words: ['drafts', 'reject'], args }),
  'PUT tenants/:/file': ([tenant], { query, headers, body }) =>
    headers?.['if-none-match'] === '*'
      ? { words: ['put'], args: [tenant, String(query?.path)], input: body ?? '' }
      : null,
  'DELETE tenants/:/file': ([tenant], { query }) => ({
    words: ['rm'],
    args: [tenant, String(query?.path)],
    options: { recursive: query?.recursive === true || undefined },
  }),
  'POST find': (
    _,
    { json: { text, mode, exact, ignore_case, in: part, places, tenants, incident: _incident, ...filter } },
  ) => ({
    words: ['find'],
    args: [text],
    options: {
      mode,
      exact: exact || undefined,
      'ignore-case': ignore_case || undefined,
      in: part,
      place: places,
      ...filter,
      ...selectionOptions(tenants),
    },
  }),
  'POST erase': (_, { json: { text, exact, ignore_case, replacement, keep_out, dry_run, tenants } }) => ({
    words: ['erase'],
    args: ['-'],
    options: {
      exact: exact || undefined,
      'ignore-case': ignore_case || undefined,
      replacement,
      'keep-out': keep_out || undefined,
      [dry_run ? 'dry-run' : 'yes']: true,
      ...selectionOptions(tenants),
    },
    // The command removes one line break from the end.
    input: `${text}\n`,
  }),
  'POST revert': (_, { json: { tenants, take_all, incident: _incident, ...filter } }) => ({
    words: ['revert'],
    options: { ...filter, 'take-all': take_all, ...selectionOptions(tenants) },
  }),
  'POST jobs/:/cancel': (args) => ({ words: ['jobs', 'cancel'], args }),
  'POST kept-out': (_, { json: { text, label } }) => ({
    words: ['keep-out', 'add'],
    options: { from: '-', label: label || undefined },
    input: text,
  }),
  'POST tenants/:/kept-out': (args, { json: { text, label } }) => ({
    words: ['keep-out', 'add'],
    args,
    options: { from: '-', label: label || undefined },
    input: text,
  }),
  'DELETE kept-out/:': (args) => ({ words: ['keep-out', 'remove'], args }),
  'DELETE tenants/:/kept-out/:': ([tenant, entry]) => ({
    words: ['keep-out', 'remove'],
    args: [entry, tenant],
  }),
};

const toKebabCase = (name: string) => name.replaceAll('_', '-');

function tenantOptions({ settings = {}, name, description, metadata = {} }: Body): Options {
  const options: Options = { name, description };
  for (const [setting, value] of Object.entries(settings))
    options[toKebabCase(setting)] = value === null ? 'default' : String(value);
  const pairs = Object.entries(metadata).map(([key, value]) => `${key}=${value ?? ''}`);
  return { ...options, metadata: pairs };
}

const rightOptions = (rights: Body = []): string[] =>
  rights.map(({ path, access }: Body) => `${path}=${access}`);

function selectionOptions({ ids, search, status, metadata, except, found_by }: Body = {}): Options {
  const isAll = [ids, search, status, metadata, found_by].every((each) => each === undefined);
  return {
    all: isAll || undefined,
    tenant: ids,
    'tenant-search': search,
    status,
    metadata: metadata && Object.entries(metadata).map(([key, value]) => `${key}=${value}`),
    except,
    'found-by': found_by,
  };
}

/** Returns the command line for a request, or null if no command makes the same request. */
function findCommand(request: ApiRequest): CliCommand | null {
  const { method, path, json, ...rest } = request;
  const segments = path.split('/');
  for (const [pattern, toCommand] of Object.entries(COMMANDS)) {
    const [verb, route = ''] = pattern.split(' ');
    const parts = route.split('/');
    const isMatch = verb === method && parts.length === segments.length;
    if (!isMatch || !parts.every((part, i) => part === ':' || part === segments[i])) continue;
    const params = segments.filter((_, i) => parts[i] === ':').map(decodeURIComponent);
    return toCommand(params, { ...rest, json: json ?? {} });
  }
  return null;
}

export const hasCommand = (request: ApiRequest) => findCommand(request) !== null;

/** Returns a request as a `memory-service` command, or null if no command makes the same request. */
export function toCommandLine(request: ApiRequest, base: string): string | null {
  const command = findCommand(request);
  return command && formatCommand(command, base);
}

function formatCommand({ words, args = [], options = {}, input }: CliCommand, base: string): string {
  const named = Object.entries(options).flatMap(([name, value]) => optionTexts(`--${name}`, value));
  const given = args.filter((arg) => arg !== undefined);
  // After `--`, an argument may begin with a dash.
  const all = given.some((arg) => arg.startsWith('-'))
    ? [...named, ['--', ...given.map(quoteWord)].join(' ')]
    : [...given.map(quoteWord), ...named];
  const url = new URL('.', base).href;
  const environment = `MEMORY_ADMIN_URL=${quoteWord(url)} MEMORY_ADMIN_KEY="${KEY}"`;
  const command = `memory-service ${words.join(' ')}`;
  const before = input === undefined ? '' : `printf %s ${quoteWord(input)} | `;
  return `${before}${environment}${NEXT_LINE}${[command, ...all].join(' ')}`;
}

function optionTexts(name: string, value: string | number | true | readonly string[] | undefined): string[] {
  if (value === undefined) return [];
  if (value === true) return [name];
  if (typeof value === 'object') return value.flatMap((each) => optionTexts(name, each));
  const text = String(value);
  return [text.startsWith('-') && text !== '-' ? `${name}=${quoteWord(text)}` : `${name} ${quoteWord(text)}`];
}
