import { session } from './api/session-state.ts';
import { route } from './router.ts';
import { mainSections, type Section, tenantSections } from './shell/sections.ts';

const APP = 'Memory console';

/** Returns the current route's document title, the most specific part first. */
export function documentTitle(): string {
  if (session.value === null) return `Sign in · ${APP}`;
  const { segments, query } = route.value;
  const [section = 'tenants', tenant, tab = '', item] = segments;
  if (section !== 'tenants' || tenant === undefined)
    return `${currentTitle(mainSections()) ?? 'Not found'} · ${APP}`;
  const path = query.get('path');
  const name = path === null ? undefined : path.slice(path.lastIndexOf('/') + 1);
  const isComparison = tab === 'history' && query.has('version') && query.has('against');
  const isReview = tab === 'drafts' && item !== undefined;
  const page = isComparison ? 'Two versions' : isReview ? 'Review' : currentTitle(tenantSections(tenant));
  return [name, name !== undefined && tab === '' ? '' : (page ?? 'Memory'), tenant, APP]
    .filter(Boolean)
    .join(' · ');
}

const currentTitle = (sections: Section[]) => sections.find(({ isCurrent }) => isCurrent)?.title;
