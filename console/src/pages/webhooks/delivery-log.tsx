import { listDeliveries } from '../../api/webhooks-api.ts';
import { formatNumber } from '../../text/format.ts';
import { Time } from '../../ui/inline.tsx';
import { LoadPages } from '../../ui/load.tsx';
import { Name } from '../../ui/name.tsx';
import { usePages } from '../../ui/use-pages.ts';
import { resultText } from './webhook-texts.ts';

interface Props {
  id: string;
  /** Number of the load. A new number loads the list again. */
  round: number;
}

/** Lists the attempts to deliver messages, newest first. */
export function DeliveryLog({ id, round }: Props) {
  const pages = usePages('deliveries', (after, signal) => listDeliveries(id, after, signal), [id, round]);
  return (
    <section aria-label="Deliveries">
      <LoadPages
        of={pages}
        what="deliveries"
        empty="No deliveries in the last 7 days"
        more="Show older deliveries"
      >
        {(deliveries) => (
          <ol class="surface audit-events small">
            {deliveries.map(({ at, message_id, type, tenant, duration_ms, ...result }) => (
              <li key={`${at} ${message_id}`}>
                <p class="audit-line">
                  <code>{type}</code>
                  <span>{resultText(result)}</span>
                </p>
                <p class="muted audit-line">
                  <Time value={at} /> · {formatNumber(duration_ms)} ms · {message_id}
                  {tenant !== null && (
                    <>
                      {' '}
                      · <Name text={tenant} />
                    </>
                  )}
                </p>
              </li>
            ))}
          </ol>
        )}
      </LoadPages>
    </section>
  );
}
