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

type OptionValue = string | number | boolean | readonly string[] | null | undefined;
/** Values by option. `true` is an option without a value; false, null, and undefined omit the option. */
type Options = Record<string, OptionValue>;

/** Command-line arguments for `memory-service`. */
interface CliCommand {
  words: string;
  args: readonly (string | undefined)[];
  options: Options;
  /** Text for standard input. */
  input: string | undefined;
}

const cli = (words: string, args: CliCommand['args'], options: Options = {}, input?: string): CliCommand => ({
  words,
  args,
  options,
  input,
});

// biome-ignore lint/suspicious/noExplicitAny: The API has checked the body of each request by its schema.
type Body = any;
type ToCommand = (
  params: string[],
  request: Pick<ApiRequest, 'query' | 'headers' | 'body'> & { json: Body },
) => CliCommand | null;

/** Commands by request. `:` is a path parameter. A text is a command whose arguments are the parameters. */
const COMMANDS: Record<string, string | ToCommand> = {
  'POST tenants': (_, { json: { id, ...more } }) => cli('tenants create', [id], tenantOptions(more)),
  'PATCH tenants/:': (args, { json }) => cli('tenants set', args, tenantOptions(json)),
  'POST tenants/:/rename': ([tenant], { json: { to } }) => cli('tenants rename', [tenant, to]),
  'POST tenants/:/copy': ([tenant], { json: { to } }) => cli('tenants copy', [tenant, to]),
  'POST tenants/:/suspend': 'tenants suspend',
  'POST tenants/:/resume': 'tenants resume',
  'DELETE tenants/:': 'tenants delete',
  'PUT tenants/:/mounts/:': ([tenant, name], { json: { tenant: mounted, access, prefix, instructions } }) =>
    cli('tenants mount', [tenant, mounted], {
      name,
      access,
      prefix,
      instructions: instructions || undefined,
    }),
  'DELETE tenants/:/mounts/:': 'tenants unmount',
  'POST tenants/:/invitations': (args, { json: { access, prefix, reusable, expires_in_seconds } }) =>
    cli('invitations create', args, { access, prefix, reusable, expires: `${expires_in_seconds}s` }),
  'DELETE tenants/:/invitations/:': 'invitations revoke',
  'POST tenants/:/shares': ([tenant], { json: { token, name, instructions } }) =>
    cli('shares accept', [tenant, name], { instructions: instructions || undefined }, token),
  'DELETE tenants/:/shares/:': 'shares end',
  'POST keys': (_, { json }) =>
    cli('keys create', [], {
      ...(json.kind === 'tenant' ? { tenant: json.tenant } : { [json.kind]: true }),
      access: json.access,
      'manage-stores': json.manages_stores,
      share: json.can_share,
      right: rightOptions(json.rights),
      'only-tenants': json.tenants?.join(','),
      label: json.label || undefined,
      source: json.source || undefined,
      expires: json.expires_at,
    }),
  'PATCH keys/:': (args, { json: { label, expires_at, rights } }) =>
    cli('keys update', args, {
      label,
      expires: expires_at === null ? 'never' : expires_at,
      right: rightOptions(rights),
      'remove-rights': rights?.length === 0,
    }),
  'POST keys/:/rotate': (args, { json: { overlap_seconds } }) =>
    cli('keys rotate', args, { overlap: `${overlap_seconds}s` }),
  'DELETE keys/:': 'keys revoke',
  'POST webhooks': (_, { json: { url, tenant, types, path, content } }) =>
    cli('webhooks create', [url], { tenant, type: types, path, content }),
  'PATCH webhooks/:': (args, { json: { enabled } }) =>
    cli(`webhooks ${enabled ? 'enable' : 'disable'}`, args),
  'DELETE webhooks/:': 'webhooks delete',
  'POST webhooks/:/rotate': (args, { json: { overlap_seconds } }) =>
    cli('webhooks rotate', args, { overlap: `${overlap_seconds}s` }),
  'POST webhooks/:/redeliver': (args, { json: { since } }) => cli('webhooks redeliver', args, { since }),
  'POST tenants/:/versions/:/redact': 'redact',
  'POST tenants/:/restore': ([tenant], { json: { path, at, version, plan } }) =>
    cli('restore', [tenant, path], { at, version, plan }),
  'POST tenants/:/revert': (args, { json: { by, source, since, until, plan, resolutions = [] } }) =>
    // The command names files by path, and a resolution by ID.
    resolutions.length > 0 ? null : cli('revert', args, { by, source, since, until, plan }),
  'POST tenants/:/drafts/:/merge': (args, { json: { review, resolutions } }) =>
    resolutions.length > 0 ? null : cli('drafts merge', args, { review }),
  'POST tenants/:/drafts/:/replace': (args, { json: { review } }) => cli('drafts replace', args, { review }),
  'POST tenants/:/drafts/:/close': 'drafts reject',
  'PUT tenants/:/file': ([tenant], { query, headers, body = '' }) =>
    headers?.['if-none-match'] === '*' ? cli('put', [tenant, String(query?.path)], {}, body) : null,
  'DELETE tenants/:/file': ([tenant], { query }) =>
    cli('rm', [tenant, String(query?.path)], { recursive: query?.recursive === true }),
  'POST find': (_, { json }) => {
    const {
      text,
      mode,
      exact,
      ignore_case,
      in: part,
      places,
      tenants,
      incident: _incident,
      ...filter
    } = json;
    const options = { mode, exact, 'ignore-case': ignore_case, in: part, place: places, ...filter };
    return cli('find', [text], { ...options, ...selectionOptions(tenants) });
  },
  'POST erase': (_, { json: { text, exact, ignore_case, replacement, keep_out, dry_run, tenants } }) => {
    const options = { exact, 'ignore-case': ignore_case, replacement, 'keep-out': keep_out };
    const mode = { [dry_run ? 'dry-run' : 'yes']: true };
    // The command removes one line break from the end.
    return cli('erase', ['-'], { ...options, ...mode, ...selectionOptions(tenants) }, `${text}\n`);
  },
  'POST revert': (_, { json: { tenants, take_all, incident: _incident, ...filter } }) =>
    cli('revert', [], { ...filter, 'take-all': take_all, ...selectionOptions(tenants) }),
  'POST jobs/:/cancel': 'jobs cancel',
  'POST kept-out': keepOut,
  'POST tenants/:/kept-out': keepOut,
  'DELETE kept-out/:': 'keep-out remove',
  'DELETE tenants/:/kept-out/:': ([tenant, entry]) => cli('keep-out remove', [entry, tenant]),
};

function keepOut(args: string[], { json: { text, label } }: { json: Body }): CliCommand {
  return cli('keep-out add', args, { from: '-', label: label || undefined }, text);
}

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
    all: isAll,
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
    return typeof toCommand === 'string'
      ? cli(toCommand, params)
      : toCommand(params, { ...rest, json: json ?? {} });
  }
  return null;
}

export const hasCommand = (request: ApiRequest) => findCommand(request) !== null;

/** Returns a request as a `memory-service` command, or null if no command makes the same request. */
export function toCommandLine(request: ApiRequest, base: string): string | null {
  const command = findCommand(request);
  return command && formatCommand(command, base);
}

function formatCommand({ words, args, options, input }: CliCommand, base: string): string {
  const named = Object.entries(options).flatMap(([name, value]) => optionTexts(`--${name}`, value));
  const given = args.filter((arg) => arg !== undefined);
  // After `--`, an argument may begin with a dash.
  const all = given.some((arg) => arg.startsWith('-'))
    ? [...named, ['--', ...given.map(quoteWord)].join(' ')]
    : [...given.map(quoteWord), ...named];
  const url = new URL('.', base).href;
  const environment = `MEMORY_ADMIN_URL=${quoteWord(url)} MEMORY_ADMIN_KEY="${KEY}"`;
  const command = `memory-service ${words}`;
  const before = input === undefined ? '' : `printf %s ${quoteWord(input)} | `;
  return `${before}${environment}${NEXT_LINE}${[command, ...all].join(' ')}`;
}

function optionTexts(name: string, value: OptionValue): string[] {
  if (value === undefined || value === null || value === false) return [];
  if (value === true) return [name];
  if (typeof value === 'object') return value.flatMap((each) => optionTexts(name, each));
  const text = String(value);
  return [text.startsWith('-') && text !== '-' ? `${name}=${quoteWord(text)}` : `${name} ${quoteWord(text)}`];
}
