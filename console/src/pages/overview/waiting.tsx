import type { DraftsPage } from '../../api/drafts-api.ts';
import type { Job } from '../../api/incidents-api.ts';
import { toHref } from '../../router.ts';
import { count, formatNumber } from '../../text/format.ts';
import { Time } from '../../ui/inline.tsx';
import { NameLink } from '../../ui/name.tsx';
import { jobTitle } from '../incidents/incident-texts.ts';
import { isActive } from '../incidents/use-job.ts';
import { CardList, Row, TenantName } from './card-list.tsx';

const ROWS = 5;

/** The newest open drafts, and the oldest one's age. */
export function OpenDrafts({ drafts, total, oldest_created_at: oldest }: DraftsPage) {
  return (
    <CardList
      title="Drafts to review"
      empty="No draft waits."
      all={toHref(['drafts'])}
      total={total}
      note={
        oldest !== null && (
          <>
            , the oldest <Time value={oldest} isAge />
          </>
        )
      }
    >
      {drafts.map(({ tenant, id, title, created_at: createdAt }) => (
        <Row
          key={id}
          subject={<NameLink href={toHref(['tenants', tenant, 'drafts', id])} text={title} />}
          detail={<TenantName id={tenant} />}
        >
          <Time value={createdAt} isAge />
        </Row>
      ))}
    </CardList>
  );
}

/** The jobs that run, and the latest jobs that failed in some tenants. */
export function Jobs({ jobs }: { jobs: Job[] }) {
  const shown = jobs.filter((job) => isActive(job) || job.tenants_failed > 0);
  return (
    <CardList
      title="Jobs"
      empty="No job runs, and none of the latest failed."
      all={toHref(['incidents'])}
      total={shown.length}
    >
      {shown.slice(0, ROWS).map((job) => (
        <Row key={job.id} subject={<NameLink href={toHref(['incidents', job.id])} text={jobTitle(job)} />}>
          {isActive(job)
            ? `${formatNumber(job.tenants_done)} of ${formatNumber(job.tenants)} tenants`
            : `failed in ${count(job.tenants_failed, 'tenant')}`}
        </Row>
      ))}
    </CardList>
  );
}
