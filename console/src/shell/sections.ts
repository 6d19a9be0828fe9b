import { canWrite, onlyTenants } from '../api/session-state.ts';
import { route, toHref } from '../router.ts';
import type { IconName } from '../ui/icon.tsx';

/** A page's link in a navigation. */
export interface Section {
  title: string;
  href: string;
  icon: IconName;
  isCurrent: boolean;
}

const sectionCreator =
  (parent: string[], current: string) =>
  (title: string, icon: IconName, name = title.toLowerCase()): Section => ({
    title,
    href: toHref([...parent, name].filter(Boolean)),
    icon,
    isCurrent: current === name,
  });

/** Pages for all tenants. An admin key for certain tenants has no overview. */
export function mainSections(): Section[] {
  const [current = 'tenants'] = route.value.segments;
  const section = sectionCreator([], current === 'tenants' ? '' : current);
  return [
    ...(onlyTenants.value === null ? [section('Overview', 'overview')] : []),
    section('Tenants', 'tenants', ''),
    section('Drafts', 'draft'),
    section('Incident', 'incident', 'incidents'),
    section('Keys', 'key'),
    section('Webhooks', 'webhook'),
    section('Audit', 'audit'),
  ];
}

/** One tenant's pages. */
export function tenantSections(tenant: string): Section[] {
  const [, , current = ''] = route.value.segments;
  const section = sectionCreator(['tenants', tenant], current);
  return [
    section('Memory', 'directory', ''),
    section('History', 'clock'),
    section('Compare', 'compare'),
    section('Drafts', 'draft'),
    ...(canWrite.value ? [section('Playground', 'terminal')] : []),
    section('Settings', 'settings'),
  ];
}
