import { toHref } from '../router.ts';
import { Name } from './name.tsx';

/** Link to a tenant's settings. */
export function TenantLink({ id }: { id: string }) {
  return (
    <a class="name-link" href={toHref(['tenants', id, 'settings'])}>
      <Name text={id} />
    </a>
  );
}
