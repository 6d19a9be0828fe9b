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

const STATUS_KINDS = { active: 'good', suspended: 'bad', archived: 'neutral' } as const;

export function StatusBadge({ tenant: { status } }: { tenant: Tenant }) {
  return <Badge kind={STATUS_KINDS[status]}>{status}</Badge>;
}
