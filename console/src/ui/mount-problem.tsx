import type { Mounts } from '../api/api-types.ts';
import { Badge } from './inline.tsx';

type Status = Mounts['mounts'][number]['status'];

const PROBLEMS: Record<Exclude<Status, null | 'ok'>, string> = {
  suspended: 'The tenant is suspended',
  missing: 'There is no such tenant',
  name_taken: 'Hides a file or directory of this name',
};

/** The reason that agents cannot use a mount as configured. Empty if agents can, or if the status is unknown. */
export function MountProblem({ status = null }: { status?: Status | undefined }) {
  return status === null || status === 'ok' ? null : <Badge kind="bad">{PROBLEMS[status]}</Badge>;
}
