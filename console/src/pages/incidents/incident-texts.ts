import { MODES, type Mode } from '../../../../src/features/search/modes.ts';
import type { ActorQuery } from '../../api/history-api.ts';
import type { Counts, Job, JobOutcome, Part, Place } from '../../api/incidents-api.ts';
import { count } from '../../text/format.ts';
import { keptText } from './state.ts';
import { isActive } from './use-job.ts';

/* Sentences about jobs and their counts. */

/** A job's request as the service stores it. */
export interface StoredRequest {
  mode?: Mode;
  where?: Part;
  isExact?: boolean;
  ignoresCase?: boolean;
  places?: Place[];
  by?: string | null;
  since?: string | null;
  until?: string | null;
  /** Tenants for which an erasure keeps the text out. */
  keepsOut?: 'all' | 'tenants' | null;
  isDryRun?: boolean;
  dryRunOf?: string | null;
  /** The incident's first job. Missing in this job. */
  incident?: string;
}

export const storedRequest = ({ request }: Pick<Job, 'request'>) => request as StoredRequest;

const SOURCE = 'source:';

/** Returns the name for the actor or the source in a stored request. */
export const actorName = (by: string) => (by.startsWith(SOURCE) ? `source ${by.slice(SOURCE.length)}` : by);

/** Converts a stored request's actor to parameters for a new request. */
export const actorQuery = (by: string): ActorQuery =>
  by.startsWith(SOURCE) ? { source: by.slice(SOURCE.length) } : { by };

/** Splits a stored request's actor into the form's fields. */
export function actorFields(by: string | null | undefined): { actorKind: 'by' | 'source'; actor: string } {
  const query = actorQuery(by ?? '');
  return 'source' in query
    ? { actorKind: 'source', actor: query.source }
    : { actorKind: 'by', actor: query.by };
}

export const KINDS: Record<Job['kind'], string> = { find: 'Find', revert: 'Undo', erase: 'Erase' };

/** Returns a job's title. The job's text is known only to the tab that started the job. */
export function jobTitle(job: Job): string {
  const { by, isDryRun } = storedRequest(job);
  const verb = isDryRun ? `Dry run: ${KINDS[job.kind].toLowerCase()}` : KINDS[job.kind];
  if (job.kind === 'revert') return `${verb} ${by ? actorName(by) : 'a period'}`;
  const text = keptText(job.id);
  return text === undefined ? `${verb} a text` : `${verb} “${shortenTitle(text)}”`;
}

const MAX_TITLE = 80;
const shortenTitle = (text: string) => (text.length > MAX_TITLE ? `${text.slice(0, MAX_TITLE)}…` : text);

const modeText = (mode: Mode) => MODES[mode].form.label.toLowerCase();
export const PARTS: Record<Part, string> = { both: 'Contents and paths', content: 'Contents', path: 'Paths' };
export const PLACES: Record<Place, string> = {
  current: 'Current files',
  superseded: 'Superseded versions',
  drafts: 'Open drafts',
};

/** Describes a find's request, without the text. */
export function describeFind(request: StoredRequest): string {
  const { mode = 'literal', where = 'both', places = [], by } = request;
  const kind = mode === 'literal' ? literalText(request) : modeText(mode);
  const parts = [PARTS[where], places.map((place) => PLACES[place]).join(', ')];
  return [kind, ...parts.map((part) => part.toLowerCase()), ...(by ? [`by ${actorName(by)}`] : [])].join(
    ' · ',
  );
}

/** Describes how a find or an erasure compares texts. */
export function literalText({ isExact, ignoresCase }: StoredRequest): string {
  if (!isExact) return modeText('literal');
  return ignoresCase ? 'exact text, ignoring case' : 'exact text';
}

/** Names the job that selected the tenants, if it may have missed some. */
export function foundByText({ found_by_state: state }: Job['selection']): string | null {
  if (state === 'cancelled') return 'The find that selected the tenants was cancelled before its end.';
  return state === 'inexact' ? 'The find that selected the tenants could not read all versions.' : null;
}

/** Whether a find has read every place that can hold a text, so that the find is the dry run for an erasure. */
export function isEverywhere(request: StoredRequest): boolean {
  const { mode, where, places = [], by, since, until } = request;
  return mode === 'literal' && where === 'both' && places.length === 3 && !by && !since && !until;
}

/** Describes a job's selected tenants. */
export function describeTenants({
  selection,
  only_tenants,
}: Pick<Job, 'selection' | 'only_tenants'>): string {
  const { search, status, metadata = {}, except = [], found_by } = selection;
  const parts = [
    ...(found_by ? ['tenants of an earlier job'] : []),
    ...(only_tenants === null ? [] : [joinTenants(only_tenants)]),
    ...(search ? [`tenants with “${search}”`] : []),
    ...(status ? [`${status} tenants`] : []),
    ...Object.entries(metadata).map(([key, value]) => `${key}=${value}`),
  ];
  const all = parts.length === 0 ? 'all tenants' : parts.join(', ');
  return except.length === 0 ? all : `${all}, except ${joinTenants(except)}`;
}

const joinTenants = (tenants: string[]) =>
  tenants.length > 3 ? count(tenants.length, 'tenant') : tenants.join(', ');

type Counted = Pick<JobOutcome, 'counts' | 'is_exact'>;

/** Words for counts, in the sentence's order, singular and plural. */
type Nouns = readonly (readonly [name: string, one: string, many?: string])[];

const FOUND: Nouns = [
  ['current', 'current', 'current'],
  ['superseded', 'superseded', 'superseded'],
  ['drafts', 'in drafts', 'in drafts'],
  ['paths', 'by path', 'by path'],
  ['directories', 'directory', 'directories'],
];
const ERASED: Nouns = [
  ['files', 'current file'],
  ['versions', 'superseded version'],
  ['drafts', 'version in a draft', 'versions in drafts'],
  ['paths', 'path'],
  ['directories', 'directory', 'directories'],
  ['results', 'stored result'],
  ['titles', 'title of a draft', 'titles of drafts'],
];
const CHANGES: Nouns = [
  ['files', 'file'],
  ['directories', 'directory', 'directories'],
];

/** Lists the counts that are not zero: `1 file, 2 directories`. */
function listCounts(counts: Counts, nouns: Nouns): string {
  const shown = nouns.filter(([name]) => (counts[name] ?? 0) > 0);
  return shown.map(([name, ...words]) => count(counts[name] ?? 0, ...words)).join(', ');
}

const bound = (isExact: boolean) => (isExact ? '' : 'at least ');

/** Describes an erasure's places, such as `1 current file, 2 superseded versions`. */
export function erasedText({ counts, is_exact }: Counted, isEnded = true): string {
  const places = listCounts(counts, ERASED);
  return places === '' ? 'no places' : `${bound(is_exact || !isEnded)}${places}`;
}

/** Describes the places that an erasure leaves to the operator. Returns null if there are none. */
export function leftText({ left = 0, settings = 0 }: Counts): string | null {
  const parts = [
    left > 0 && `${count(left, 'place')} could not be erased: erase the text again`,
    settings > 0 &&
      `${count(settings, 'setting or origin', 'settings or origins')} with the text: change them`,
  ].filter(Boolean);
  return parts.length === 0 ? null : `${parts.join('; ')}.`;
}

/** Describes the hits in a tenant or a job, such as `at least 3 hits in 2 files: 1 current, 2 superseded`. */
export function foundText({ counts, is_exact }: Counted, isEnded = true): string {
  const { hits = 0, files = 0 } = counts;
  const parts = listCounts(counts, FOUND);
  const end = parts === '' ? '' : `: ${parts}`;
  return `${bound(is_exact || !isEnded)}${count(hits, 'hit')} in ${count(files, 'file')}${end}`;
}

/** Describes a revert's changes, such as `2 files, 1 directory`. */
export const changesText = (counts: Counts): string => listCounts(counts, CHANGES) || 'no changes';

/** Describes a job's result so far. */
export function resultText(job: Job): string {
  const isEnded = !isActive(job);
  if (job.kind === 'find') return foundText(job, isEnded);
  const { isDryRun } = storedRequest(job);
  if (job.kind === 'erase') return `${isDryRun ? 'will erase' : 'erased'} ${erasedText(job, isEnded)}`;
  const { conflicts = 0 } = job.counts;
  const left = conflicts > 0 ? `${isDryRun ? '' : 'not undone: '}${count(conflicts, 'conflict')}; ` : '';
  return `${left}${isDryRun ? 'will change' : 'changed'} ${changesText(job.counts)}`;
}

const CHANGED = 'precondition_failed';

/** Returns the words for a tenant's error code. */
export const errorText = (code: string) =>
  code === CHANGED ? 'changed since the dry run' : code.replaceAll('_', ' ');
