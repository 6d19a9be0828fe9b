import { toHref } from '../router.ts';
import { NameLink } from './name.tsx';

/** Link to a tenant's settings. */
export function TenantLink({ id }: { id: string }) {
  return <NameLink href={toHref(['tenants', id, 'settings'])} text={id} />;
}
