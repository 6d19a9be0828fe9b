import type { ComponentChildren } from 'preact';
import { toHref } from '../../router.ts';
import { formatNumber } from '../../text/format.ts';
import { NameLink } from '../../ui/name.tsx';

interface Props {
  title: string;
  /** Text in place of an empty list. */
  empty: string;
  /** Link to the complete list. */
  all?: string;
  /** Number of items in the complete list. */
  total?: number;
  /** Text after the link. */
  note?: ComponentChildren;
  /** Rows. */
  children: ComponentChildren[];
}

/** A card with a short list, and a link to the complete list. */
export function CardList({ title, empty, all, total = 0, note, children }: Props) {
  return (
    <section class="card">
      <h2>{title}</h2>
      {children.length === 0 ? <p class="muted small">{empty}</p> : <ul class="overview-rows">{children}</ul>}
      {all !== undefined && total > children.length && (
        <p class="small">
          <a href={all}>All {formatNumber(total)}</a>
          <span class="muted">{note}</span>
        </p>
      )}
    </section>
  );
}

interface RowProps {
  subject: ComponentChildren;
  /** Line below the subject. */
  detail?: ComponentChildren;
  children: ComponentChildren;
}

/** A subject, with a short text about it. */
export function Row({ subject, detail, children }: RowProps) {
  return (
    <li class="spread">
      <div class="overview-subject">
        {subject}
        {detail && <div class="muted small">{detail}</div>}
      </div>
      <span class="muted small">{children}</span>
    </li>
  );
}

export const TenantName = ({ id }: { id: string }) => <NameLink href={toHref(['tenants', id])} text={id} />;
