import type { Route } from './router.ts';

const APP = 'Memory console';
const PAGES: Record<string, string> = {
  overview: 'Overview',
  drafts: 'Drafts',
  keys: 'Keys',
  webhooks: 'Webhooks',
  incidents: 'Incident',
  audit: 'Audit',
};
const TABS: Record<string, string> = {
  history: 'History',
  compare: 'Compare',
  drafts: 'Drafts',
  settings: 'Settings',
};

/** Returns a route's document title, the most specific part first. Null is the sign-in page. */
export function documentTitle(route: Route | null): string {
  if (route === null) return `Sign in · ${APP}`;
  const [section = 'tenants', tenant, tab = '', item] = route.segments;
  const page = PAGES[section];
  if (page !== undefined) return `${page} · ${APP}`;
  if (section !== 'tenants') return `Not found · ${APP}`;
  if (tenant === undefined) return `Tenants · ${APP}`;
  const path = route.query.get('path');
  const name = path === null ? undefined : path.slice(path.lastIndexOf('/') + 1);
  const isComparison = tab === 'history' && route.query.has('version') && route.query.has('against');
  return [
    name,
    isComparison
      ? 'Two versions'
      : tab === 'drafts' && item !== undefined
        ? 'Review'
        : (TABS[tab] ?? (name === undefined ? 'Memory' : undefined)),
    tenant,
    APP,
  ]
    .filter(Boolean)
    .join(' · ');
}
