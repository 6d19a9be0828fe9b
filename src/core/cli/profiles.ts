import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { isLoopback } from '../config.ts';
import type { LocalService } from '../database/open-database.ts';
import { OperatorError } from '../errors/errors.ts';

export interface AdminTarget {
  url: URL;
  key: string | undefined;
  /** The local service that serves the API. */
  service?: LocalService;
}

export interface AdminEnvironment {
  MEMORY_ADMIN_URL?: string | undefined;
  MEMORY_ADMIN_KEY?: string | undefined;
  MEMORY_PROFILE?: string | undefined;
  XDG_CONFIG_HOME?: string | undefined;
  APPDATA?: string | undefined;
}

/**
 * Chooses the admin API: `--url` or `--profile`, then `MEMORY_ADMIN_URL`, then `MEMORY_PROFILE`. A profile's key is
 * sent only to the profile's URL. Other URLs use `MEMORY_ADMIN_KEY`.
 *
 * @returns undefined if no API is chosen, so that the command works on the database
 * @throws OperatorError if the profile or URL cannot be used
 */
export function adminTarget(
  options: { url?: string; profile?: string },
  env: AdminEnvironment,
): AdminTarget | undefined {
  if (options.url !== undefined && options.profile !== undefined)
    throw new OperatorError('Use either --url or --profile, not both.');
  // An empty variable counts as unset.
  const fromEnvironment = options.profile === undefined ? env.MEMORY_ADMIN_URL || undefined : undefined;
  const url = options.url ?? fromEnvironment;
  const name = options.profile ?? (env.MEMORY_PROFILE || undefined);
  const variableKey = env.MEMORY_ADMIN_KEY?.trim() || undefined;
  if (url !== undefined)
    return checkTarget(url, variableKey, options.url === undefined ? 'MEMORY_ADMIN_URL' : '--url');
  if (name === undefined) return undefined;
  const profile = readProfile(name, configFile(env));
  return checkTarget(profile.url, profile.key ?? variableKey, `The url of profile ${name}`);
}

/**
 * Parses an admin API's URL.
 *
 * @returns undefined if the text is not a plain http(s) URL
 */
export function parseAdminUrl(text: string): URL | undefined {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  const isPlain = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  return isPlain ? url : undefined;
}

function checkTarget(text: string, key: string | undefined, source: string): AdminTarget {
  const url = parseAdminUrl(text);
  if (url === undefined) throw new OperatorError(`${source} is not a URL such as https://admin.example.com.`);
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key))
    throw new OperatorError('The admin key contains characters that no key has. Copy it again.');
  const isLocal = isLoopback(url.hostname.replace(/^\[(.*)\]$/, '$1'));
  if (url.protocol === 'http:' && key !== undefined && !isLocal) {
    throw new OperatorError(
      `The admin key would travel to ${url.host} unencrypted. Use https://, or a tunnel to a loopback address.`,
    );
  }
  return { url, key };
}

function configFile({ XDG_CONFIG_HOME, APPDATA }: AdminEnvironment): string {
  const directory = XDG_CONFIG_HOME || platformDirectory(APPDATA);
  return join(directory, 'memory-service', 'config.json');
}

function platformDirectory(appData: string | undefined): string {
  if (process.platform === 'win32') return appData || join(homedir(), 'AppData', 'Roaming');
  return process.platform === 'darwin'
    ? join(homedir(), 'Library', 'Application Support')
    : join(homedir(), '.config');
}

const configSchema = z.strictObject({
  profiles: z.record(z.string(), z.strictObject({ url: z.string(), key: z.string().optional() })),
});

function readProfile(name: string, file: string) {
  const { profiles } = readConfig(file);
  if (Object.hasOwn(profiles, name)) return profiles[name] as (typeof profiles)[string];
  const names = Object.keys(profiles).join(', ');
  throw new OperatorError(
    `${file} has no profile ${name}. ${names === '' ? 'It is empty.' : `It has: ${names}.`}`,
  );
}

/** @throws OperatorError without quotes from the file, because the file contains keys */
function readConfig(file: string): z.output<typeof configSchema> {
  let text: string;
  try {
    const { mode } = statSync(file);
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
      const shownMode = (mode & 0o777).toString(8).padStart(4, '0');
      throw new OperatorError(
        `${file} has keys, and other users can use it (mode ${shownMode}). Run: chmod 600 '${file}'`,
      );
    }
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    throw new OperatorError(
      `Cannot read the profiles in ${file} (${(error as NodeJS.ErrnoException).code}).`,
    );
  }
  const parsed = configSchema.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  const at = parsed.error.issues[0]?.path.join('.') ?? '';
  throw new OperatorError(
    `${file} is not valid${at === '' ? '' : ` at ${at}`}. Expected: {"profiles": {"prod": {"url": "https://…", "key": "msk_…"}}}`,
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
