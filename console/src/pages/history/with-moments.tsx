import type { ComponentChildren } from 'preact';
import type { Tenant } from '../../api/types.ts';
import { replaceQuery, route } from '../../router.ts';
import { formatExactTime, formatMoment } from '../../text/format.ts';
import { isBefore, isMoment } from '../../text/moment.ts';
import { visible } from '../../text/visible.tsx';
import { Empty } from '../../ui/messages.tsx';

interface Props {
  tenant: Tenant;
  /** Names of the URL parameters that hold a time, each with the label of the button that removes the parameter. */
  moments: Record<string, string>;
  children: ComponentChildren;
}

/** Renders the children if all times in the URL are valid and within the history; otherwise explains the problem. */
export function WithMoments({ tenant, moments, children }: Props) {
  for (const [name, without] of Object.entries(moments)) {
    const moment = route.value.query.get(name);
    if (moment === null) continue;
    if (!isMoment(moment)) return <NoMoment name={name} moment={moment} without={without} />;
    if (isBefore(moment, tenant.history_since))
      return <TooEarly name={name} moment={moment} tenant={tenant} without={without} />;
  }
  return children;
}

interface MomentProps {
  name: string;
  moment: string;
  without: string;
}

function NoMoment({ name, moment, without }: MomentProps) {
  return (
    <Empty title="The address does not contain a valid time">
      <p>
        <bdi>{visible(moment)}</bdi> is no time such as 2026-11-22T09:30:00Z.
      </p>
      <div class="buttons">
        <Remove name={name} without={without} />
      </div>
    </Empty>
  );
}

function TooEarly({ name, moment, tenant, without }: MomentProps & { tenant: Tenant }) {
  const since = tenant.history_since;
  return (
    <Empty title={`The history begins at ${formatExactTime(since)}`}>
      <p>The memory at {formatMoment(moment)} is no longer kept.</p>
      <div class="buttons">
        <button type="button" class="primary" onClick={() => replaceQuery({ [name]: since })}>
          Go to the beginning
        </button>
        <Remove name={name} without={without} />
      </div>
    </Empty>
  );
}

function Remove({ name, without }: Pick<MomentProps, 'name' | 'without'>) {
  return (
    <button type="button" onClick={() => replaceQuery({ [name]: null })}>
      {without}
    </button>
  );
}
