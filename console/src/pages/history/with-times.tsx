import type { ComponentChildren } from 'preact';
import type { Tenant } from '../../api/api-types.ts';
import { replaceQuery, route } from '../../router.ts';
import { formatChosenTime, formatExactTime } from '../../text/format.ts';
import { isBefore, isTime } from '../../text/time.ts';
import { revealHidden } from '../../text/visible.tsx';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/status-messages.tsx';

interface Props {
  tenant: Tenant;
  /** URL parameters that hold a time, each with the label for the button that removes the parameter. */
  times: Record<string, string>;
  children: ComponentChildren;
}

/** Renders the children if all times in the URL are valid and within the history; otherwise explains the problem. */
export function WithTimes({ tenant, times, children }: Props) {
  const { history_since: since } = tenant;
  for (const [name, without] of Object.entries(times)) {
    const time = route.value.query.get(name);
    if (time === null || (isTime(time) && !isBefore(time, since))) continue;
    const isEarly = isTime(time);
    const title = isEarly
      ? `The history begins at ${formatExactTime(since)}`
      : 'The address does not contain a valid time';
    return (
      <Empty title={title}>
        <p>
          {isEarly ? (
            `The memory at ${formatChosenTime(time)} is no longer kept.`
          ) : (
            <>
              <bdi>{revealHidden(time)}</bdi> is no time such as 2026-11-22T09:30:00Z.
            </>
          )}
        </p>
        <div class="buttons">
          {isEarly && (
            <Button
              text="Go to the beginning"
              class="primary"
              onClick={() => replaceQuery({ [name]: since })}
            />
          )}
          <Button text={without} onClick={() => replaceQuery({ [name]: null })} />
        </div>
      </Empty>
    );
  }
  return children;
}
