import type { ComponentChildren } from 'preact';
import type { Tenant } from '../../api/api-types.ts';
import { replaceQuery, route } from '../../router.ts';
import { formatChosenTime, formatExactTime } from '../../text/format.ts';
import { isBefore, isTime } from '../../text/time.ts';
import { revealHidden } from '../../text/visible.tsx';
import { Empty } from '../../ui/status-messages.tsx';

interface Props {
  tenant: Tenant;
  /** URL parameters that hold a time, each with the label for the button that removes the parameter. */
  times: Record<string, string>;
  children: ComponentChildren;
}

/** Renders the children if all times in the URL are valid and within the history; otherwise explains the problem. */
export function WithTimes({ tenant, times, children }: Props) {
  for (const [name, without] of Object.entries(times)) {
    const time = route.value.query.get(name);
    if (time === null) continue;
    if (!isTime(time)) return <InvalidTime name={name} time={time} without={without} />;
    if (isBefore(time, tenant.history_since))
      return <TooEarly name={name} time={time} tenant={tenant} without={without} />;
  }
  return children;
}

interface TimeProps {
  name: string;
  time: string;
  without: string;
}

function InvalidTime({ name, time, without }: TimeProps) {
  return (
    <Empty title="The address does not contain a valid time">
      <p>
        <bdi>{revealHidden(time)}</bdi> is no time such as 2026-11-22T09:30:00Z.
      </p>
      <div class="buttons">
        <Remove name={name} without={without} />
      </div>
    </Empty>
  );
}

function TooEarly({ name, time, tenant, without }: TimeProps & { tenant: Tenant }) {
  const since = tenant.history_since;
  return (
    <Empty title={`The history begins at ${formatExactTime(since)}`}>
      <p>The memory at {formatChosenTime(time)} is no longer kept.</p>
      <div class="buttons">
        <button type="button" class="primary" onClick={() => replaceQuery({ [name]: since })}>
          Go to the beginning
        </button>
        <Remove name={name} without={without} />
      </div>
    </Empty>
  );
}

function Remove({ name, without }: Pick<TimeProps, 'name' | 'without'>) {
  return (
    <button type="button" onClick={() => replaceQuery({ [name]: null })}>
      {without}
    </button>
  );
}
