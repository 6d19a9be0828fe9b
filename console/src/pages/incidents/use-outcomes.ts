import { useEffect } from 'preact/hooks';
import { type Job, type JobOutcome, listOutcomes } from '../../api/incidents-api.ts';
import { type Pages, usePages } from '../../ui/use-pages.ts';
import { isActive } from './use-job.ts';

const PAGE = 200;

/** A page with the tenants that failed or have conflicts, which are listed first, or with the other tenants. */
interface Position {
  left: boolean;
  after: string | null;
}

interface Outcomes {
  tenants: JobOutcome[];
  /** Matching tenants, on all pages. */
  total: number;
  next: Position | null;
}

/**
 * Loads a job's outcomes page by page. While the job runs, the first page follows its progress, until the user loads
 * more pages. When the job ends, all these pages are loaded again.
 */
export function useOutcomes(job: Job, search: string): Pages<JobOutcome, Outcomes> {
  const { id, tenants_done } = job;
  const isRunning = isActive(job);
  const pages = usePages(
    'tenants',
    async (position: Position | null, signal): Promise<Outcomes> => {
      const load = async ({ left, after }: Position): Promise<Outcomes> => {
        const page = await listOutcomes(id, { search, left, after, limit: PAGE }, signal);
        return { ...page, next: nextPosition(left, page.next) };
      };
      if (position !== null) return load(position);
      const [left, others] = await Promise.all([
        load({ left: true, after: null }),
        load({ left: false, after: null }),
      ]);
      const total = left.total + others.total;
      if (left.next?.left) return { ...left, total };
      return { tenants: [...left.tenants, ...others.tenants], total, next: others.next };
    },
    [id, search],
  );
  const { items = [], reload } = pages;
  useEffect(() => {
    if (!isRunning || items.length <= PAGE) void reload();
  }, [isRunning, tenants_done]);
  return pages;
}

/** The other tenants follow the last page with the tenants that are listed first. */
const nextPosition = (left: boolean, after: string | null): Position | null =>
  after !== null ? { left, after } : left ? { left: false, after: null } : null;
