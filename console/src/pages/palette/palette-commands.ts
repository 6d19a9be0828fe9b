import { canManage, canManageFleet, canWrite } from '../../api/session-state.ts';
import { toHref } from '../../router.ts';
import { mainSections, tenantSections } from '../../shell/sections.ts';

/** A page or an action in the palette. */
export interface Target {
  text: string;
  /** The target's kind, shown beside its text. */
  kind: string;
  /** A matching line. */
  excerpt?: string | undefined;
  href: string;
}

/** Returns the pages and actions that the session may use and whose text contains all words in the query. */
export function commandsFor(tenant: string | null, query: string): Target[] {
  const words = query.toLowerCase().split(/\s+/);
  const all = [...(tenant === null ? [] : tenantTabs(tenant)), ...pages(), ...actions()];
  return all.filter(({ text }) => words.every((word) => text.toLowerCase().includes(word)));
}

const pages = (): Target[] => [
  ...mainSections().map(({ title, href }) => page(title, href)),
  page('Suspended tenants', toHref([], { state: 'suspended' })),
  page('Tenants near a limit', toHref([], { state: 'near-limit', sort: 'used' })),
];

const actions = (): Target[] => [
  ...(canManageFleet.value ? [action('New tenant', toHref([], { new: 'tenant' }))] : []),
  ...(canManage.value ? [action('New key', toHref(['keys'], { new: 'key' }))] : []),
  ...(canWrite.value ? [action('Find a text everywhere', toHref(['incidents']))] : []),
];

const tenantTabs = (tenant: string) =>
  tenantSections(tenant).map(({ title, href }) => page(`${title} of ${tenant}`, href));

const page = (text: string, href: string): Target => ({ text, kind: 'Page', href });
const action = (text: string, href: string): Target => ({ text, kind: 'Action', href });
