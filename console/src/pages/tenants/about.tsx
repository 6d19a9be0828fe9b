import type { Tenant } from '../../api/api-types.ts';
import { Badge } from '../../ui/inline.tsx';
import { Name } from '../../ui/name.tsx';

/** A tenant's user-supplied name and description on one line; hidden if empty. */
export function About({ parts }: { parts: string[] }) {
  const text = parts.filter(Boolean).join(' · ');
  if (text === '') return null;
  return (
    <span class="about muted small">
      <Name text={text} />
    </span>
  );
}

/** A tenant's status; hidden for an active tenant. */
export function StatusBadge({ tenant: { status } }: { tenant: Tenant }) {
  if (status === 'active') return null;
  return <Badge kind={status === 'suspended' ? 'bad' : 'neutral'}>{status}</Badge>;
}
