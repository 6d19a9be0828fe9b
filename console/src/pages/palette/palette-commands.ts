import { canManage, canManageFleet, canWrite, onlyTenants } from '../../api/session-state.ts';
import { hrefOf } from '../../router.ts';

/** A page or an action in the palette. */
export interface Target {
  text: string;
  /** The target's kind, shown beside its text. */
  kind: string;
  href: string;
}

/** Returns the pages and actions that the session may use and whose text contains all words in the query. */
export function commandsFor(tenant: string | null, query: string): Target[] {
  const words = query.toLowerCase().split(/\s+/);
  const all = [...(tenant === null ? [] : tabsOf(tenant)), ...pages(), ...actions()];
  return all.filter(({ text }) => words.every((word) => text.toLowerCase().includes(word)));
}

const pages = (): Target[] => [
  ...(onlyTenants.value === null ? [page('Overview', hrefOf(['overview']))] : []),
  page('Tenants', '#/'),
  page('Drafts', hrefOf(['drafts'])),
  page('Keys', hrefOf(['keys'])),
  page('Incident', hrefOf(['incidents'])),
  page('Audit', hrefOf(['audit'])),
  page('Suspended tenants', hrefOf([], { state: 'suspended' })),
  page('Tenants near a limit', hrefOf([], { state: 'near-limit', sort: 'used' })),
];

const actions = (): Target[] => [
  ...(canManageFleet.value ? [action('New tenant', hrefOf([], { new: 'tenant' }))] : []),
  ...(canManage.value ? [action('New key', hrefOf(['keys'], { new: 'key' }))] : []),
  ...(canWrite.value ? [action('Find a text everywhere', hrefOf(['incidents']))] : []),
];

const tabsOf = (tenant: string): Target[] => [
  page(`Memory of ${tenant}`, hrefOf(['tenants', tenant])),
  ...['History', 'Compare', 'Drafts', 'Settings'].map((tab) =>
    page(`${tab} of ${tenant}`, hrefOf(['tenants', tenant, tab.toLowerCase()])),
  ),
];

const page = (text: string, href: string): Target => ({ text, kind: 'Page', href });
const action = (text: string, href: string): Target => ({ text, kind: 'Action', href });
