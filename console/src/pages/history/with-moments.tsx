import type { ComponentChildren } from 'preact';
import type { Tenant } from '../../api/types.ts';
import { replaceQuery, route } from '../../router.ts';
import { formatExactTime } from '../../text/format.ts';
import { isBefore, isMoment } from '../../text/moment.ts';
import { visible } from '../../text/visible.tsx';
import { Empty } from '../../ui/messages.tsx';

interface Props {
  tenant: Tenant;
  /** The parameters of the address that are moments. */
  names: readonly string[];
  children: ComponentChildren;
}

/** Shows a page of the past only for moments that can be read; otherwise says what is wrong with the address. */
export function WithMoments({ tenant, names, children }: Props) {
  for (const name of names) {
    const moment = route.value.query.get(name);
    if (moment === null) continue;
    if (!isMoment(moment)) return <NoMoment {...{ name, moment }} />;
    if (isBefore(moment, tenant.history_since)) return <TooEarly {...{ name, moment, tenant }} />;
  }
  return children;
}

function NoMoment({ name, moment }: { name: string; moment: string }) {
  return (
    <Empty title="The address names a moment that is none">
      <p>
        <bdi>{visible(moment)}</bdi> is no time such as 2026-11-22T09:30:00Z.
      </p>
      <div class="buttons">
        <Remove name={name} />
      </div>
    </Empty>
  );
}

function TooEarly({ name, moment, tenant }: { name: string; moment: string; tenant: Tenant }) {
  const since = tenant.history_since;
  return (
    <Empty title={`The history begins at ${formatExactTime(since)}`}>
      <p>What was at {formatExactTime(moment)} is not kept.</p>
      <div class="buttons">
        <button type="button" class="primary" onClick={() => replaceQuery({ [name]: since })}>
          Go to the beginning
        </button>
        <Remove name={name} />
      </div>
    </Empty>
  );
}

function Remove({ name }: { name: string }) {
  return (
    <button type="button" onClick={() => replaceQuery({ [name]: null })}>
      Remove the moment
    </button>
  );
}
