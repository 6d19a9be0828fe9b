import { readSummary } from '../../api/memory-api.ts';
import { count } from '../../text/format.ts';
import { Time } from '../../ui/inline.tsx';
import { useLoad } from '../../ui/use-load.ts';

const RECENT_DAYS = 7;

/** A file's recorded reads in the last days. Shows nothing if the tenant records no reads. */
export function ReadSummary({ tenant, path }: { tenant: string; path: string }) {
  const { data } = useLoad((signal) => readSummary(tenant, path, `${RECENT_DAYS}d`, signal), [tenant, path]);
  if (data === undefined || data.days === 0) return null;
  if (data.last_at === null) return <> · no reads in {count(data.days, 'day')}</>;
  return (
    <>
      {' · '}
      {data.count === 0
        ? `not read in ${RECENT_DAYS} days`
        : `read ${count(data.count, 'time')} in ${RECENT_DAYS} days by ${count(data.actors, 'actor')}`}
      , last <Time value={data.last_at} isAge />
    </>
  );
}
