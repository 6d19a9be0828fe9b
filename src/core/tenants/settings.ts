/*
 * A tenant's settings. This table defines the environment variables for the service's defaults, the columns and
 * statements, `BOOTSTRAP`, the options for `tenants set`, the admin API, and the console. To add a setting, add an
 * entry, document its variable in src/core/variables.ts, and run `npm run generate`.
 */

import { formatQuantity } from '../lib/units.ts';

const MEBIBYTE = 1024 * 1024;
/** Fits an integer column. Postgres stores no text over 1 GiB. */
export const MAX_TEXT_BYTES = 512 * MEBIBYTE;
/** Composing a snapshot with this length holds the event loop for less than 100 ms. */
export const MAX_CONTEXT_CHARS = 256 * 1024;
/** 100 years, so that computed times remain within the ranges that Postgres and JavaScript support. */
const MAX_DAYS = 36_500;

interface Described {
  /** Environment variable for the service's default. */
  readonly variable: string;
  /** Label in the console. */
  readonly title: string;
  /** Description for `--help` and OpenAPI, without a capital letter and a period. */
  readonly help: string;
}

/** A setting with a whole number, at least 0. */
export interface NumberSetting extends Described {
  /** The environment variable's default. */
  readonly default: number;
  readonly max: number;
  readonly unit: 'bytes' | 'characters' | 'days' | 'drafts' | 'files' | 'requests';
  /** Meaning of 0. */
  readonly zero: string;
  /** Whether the tenant's value can only lower the service's limit, which always applies. */
  readonly onlyLowers?: true;
}

export interface ChoiceSetting extends Described {
  readonly default: string;
  /** Values, with their labels in the console. */
  readonly choices: Readonly<Record<string, string>>;
}

/** A setting with paths in a memory, separated by commas. */
export interface PathsSetting extends Described {
  readonly default: '';
  readonly maxPaths: number;
}

export type Setting = NumberSetting | ChoiceSetting | PathsSetting;

export const isNumberSetting = (setting: Setting): setting is NumberSetting => 'unit' in setting;

/** Settings by name, in display order. */
export const SETTINGS = {
  maxFileBytes: {
    variable: 'MAX_FILE_BYTES',
    default: MEBIBYTE,
    max: MAX_TEXT_BYTES,
    unit: 'bytes',
    zero: 'no limit',
    title: 'Size of a file',
    help: 'largest file, in bytes',
  },
  maxBytes: {
    variable: 'MAX_TENANT_BYTES',
    default: 100 * MEBIBYTE,
    max: Number.MAX_SAFE_INTEGER,
    unit: 'bytes',
    zero: 'no limit',
    title: 'Size of all files',
    help: 'total file size, in bytes',
  },
  maxFiles: {
    variable: 'MAX_TENANT_FILES',
    default: 10_000,
    max: Number.MAX_SAFE_INTEGER,
    unit: 'files',
    zero: 'no limit',
    title: 'Files',
    help: 'number of files',
  },
  maxViewChars: {
    variable: 'MAX_VIEW_CHARS',
    default: 100_000,
    max: Number.MAX_SAFE_INTEGER,
    unit: 'characters',
    zero: 'no limit',
    title: 'Characters in a view',
    help: 'longest view result, in characters',
  },
  ratePerMinute: {
    variable: 'RATE_LIMIT_PER_MINUTE',
    default: 6000,
    max: Number.MAX_SAFE_INTEGER,
    unit: 'requests',
    zero: 'no limit',
    title: 'Requests per minute',
    help: 'requests per minute and replica',
  },
  maxBodyBytes: {
    variable: 'MAX_BODY_BYTES',
    // The service's default is computed from MAX_FILE_BYTES (src/core/config.ts).
    default: 0,
    max: MAX_TEXT_BYTES,
    unit: 'bytes',
    zero: "the service's limit",
    onlyLowers: true,
    title: 'Size of a request',
    help: "largest request body, in bytes, within the service's limit",
  },
  ttlDays: {
    variable: 'MEMORY_TTL_DAYS',
    default: 0,
    max: MAX_DAYS,
    unit: 'days',
    zero: 'never',
    title: 'Days until unused files expire',
    help: 'days after which unused files are deleted',
  },
  historyDays: {
    variable: 'HISTORY_DAYS',
    default: 30,
    max: MAX_DAYS,
    unit: 'days',
    zero: 'none',
    title: 'Days of history',
    help: 'days to keep superseded versions',
  },
  maxHistoryBytes: {
    variable: 'MAX_TENANT_HISTORY_BYTES',
    default: 1024 * MEBIBYTE,
    max: Number.MAX_SAFE_INTEGER,
    unit: 'bytes',
    zero: 'no limit',
    title: 'Size of the history',
    help: 'total history size, in bytes',
  },
  maxDrafts: {
    variable: 'MAX_TENANT_DRAFTS',
    default: 20,
    max: Number.MAX_SAFE_INTEGER,
    unit: 'drafts',
    zero: 'no limit',
    title: 'Open drafts',
    help: 'number of open drafts',
  },
  maxDraftBytes: {
    variable: 'MAX_TENANT_DRAFT_BYTES',
    default: 500 * MEBIBYTE,
    max: Number.MAX_SAFE_INTEGER,
    unit: 'bytes',
    zero: 'no limit',
    title: 'Size of all drafts',
    help: 'total file size in all open drafts, in bytes',
  },
  draftDays: {
    variable: 'DRAFT_DAYS',
    default: 30,
    max: MAX_DAYS,
    unit: 'days',
    zero: 'never',
    title: 'Days until unused drafts expire',
    help: 'days after which unused drafts are closed',
  },
  readLogDays: {
    variable: 'READ_LOG_DAYS',
    default: 0,
    max: MAX_DAYS,
    unit: 'days',
    zero: 'off',
    title: 'Days of the read trail',
    help: 'days to keep the record of which files were read by whom',
  },
  readLog: {
    variable: 'READ_LOG',
    default: 'daily',
    choices: { daily: 'One per file, actor, and day', each: 'One per read' },
    title: 'Records in the read trail',
    help: "records in the read trail: one for a day's reads of a file by an actor, or one for each read",
  },
  provenance: {
    variable: 'PROVENANCE',
    default: 'never',
    choices: { never: 'Never', on_request: 'When the caller asks for it', always: 'Always' },
    title: 'Provenance in views and searches',
    help: 'whether views and searches say who wrote each line last, and when',
  },
  secrets: {
    variable: 'SECRETS',
    default: 'store',
    choices: { store: 'Store them', mask: 'Mask them', reject: 'Reject the write' },
    title: 'Secrets in contents',
    help: 'handling of secrets in written text; known examples (AKIAIOSFODNN7EXAMPLE, the password pass) are no secrets',
  },
  createExisting: {
    variable: 'CREATE_EXISTING',
    default: 'error',
    choices: { error: 'Reject', overwrite: 'Overwrite the file' },
    title: 'Creating a file that exists',
    help: 'effect of create on an existing file',
  },
  maxContextChars: {
    variable: 'MAX_CONTEXT_CHARS',
    default: 16_000,
    max: MAX_CONTEXT_CHARS,
    unit: 'characters',
    zero: 'the maximum',
    title: 'Characters in a context',
    help: "longest snapshot in an agent's context, in characters",
  },
  pinnedPaths: {
    variable: 'PINNED_PATHS',
    default: '',
    maxPaths: 32,
    title: 'Pinned paths',
    help: "files and directories whose contents are in an agent's context, besides /memories/pinned",
  },
} as const satisfies Record<string, Setting>;

type Settings = typeof SETTINGS;
export type SettingName = keyof Settings;

export type SettingValue<Name extends SettingName> = Settings[Name] extends { choices: infer Choices }
  ? keyof Choices & string
  : Settings[Name] extends { unit: string }
    ? number
    : string;

/** The settings that apply to a tenant. 0 means no limit, unless the setting's `zero` has another meaning. */
export type EffectiveSettings = { [Name in SettingName]: SettingValue<Name> };

/** A tenant's settings as stored. Null means the service's default. */
export type TenantSettings = { [Name in SettingName]: SettingValue<Name> | null };

/** Environment variables with the service's defaults. */
export type SettingVariables = { [Name in SettingName as Settings[Name]['variable']]: SettingValue<Name> };

/** Formats a value for people. */
export function formatSetting(setting: Setting, value: number | string): string {
  if (!isNumberSetting(setting) || typeof value === 'string') return String(value) || 'none';
  return value === 0 ? setting.zero : formatQuantity(value, setting.unit);
}

export const ALL_SETTINGS = Object.entries(SETTINGS) as [SettingName, Setting][];

export function settingsFrom<Values extends Record<SettingName, unknown>>(
  value: (name: SettingName, setting: Setting) => unknown,
): Values {
  return Object.fromEntries(ALL_SETTINGS.map(([name, setting]) => [name, value(name, setting)])) as Values;
}
