import type { Tenant } from '../../api/types.ts';
import { Badge } from '../../ui/inline.tsx';
import { Name } from '../../ui/name.tsx';

/** User-supplied name and description of a tenant on one line; hidden if empty. */
export function About({ parts }: { parts: string[] }) {
  const text = parts.filter(Boolean).join(' · ');
  if (text === '') return null;
  return (
    <span class="about muted small">
      <Name text={text} />
    </span>
  );
}

export function StatusBadge({ tenant: { status, archived_at } }: { tenant: Tenant }) {
  if (status === 'active' && archived_at !== null) return <Badge kind="neutral">archived</Badge>;
  return <Badge kind={status === 'active' ? 'good' : 'bad'}>{status}</Badge>;
}
