import type { Draft } from '../../api/drafts-api.ts';
import { toHref } from '../../router.ts';
import { Icon } from '../../ui/icon.tsx';
import { Name } from '../../ui/name.tsx';

/** A draft's title, with a link back to all drafts for the tenant. */
export function DraftTitle({ draft }: { draft: Draft }) {
  return (
    <h2 class="row">
      <a class="button icon-button" href={toHref(['tenants', draft.tenant, 'drafts'])}>
        <Icon name="back" />
        <span class="visually-hidden">All drafts of the tenant</span>
      </a>
      <Name text={draft.title} />
    </h2>
  );
}
