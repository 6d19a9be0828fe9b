import { actorText } from '../../../../src/core/memory/origin.ts';
import type { FleetActivity } from '../../api/api-types.ts';
import { toHref } from '../../router.ts';
import { actorFilter } from '../../text/actor.ts';
import { count, formatNumber } from '../../text/format.ts';
import { Time } from '../../ui/inline.tsx';
import { Name, NameLink } from '../../ui/name.tsx';
import { CardList, Row, TenantName } from './card-list.tsx';
import { Totals } from './totals.tsx';

type Caller = FleetActivity['callers'][number];

const ROWS = 5;
const DATABASES = { postgres: 'Postgres', citus: 'Citus on Postgres', pglite: 'Embedded Postgres' };

const formatMs = (ms: number) => (ms < 10 ? `${ms.toFixed(1)} ms` : `${formatNumber(Math.round(ms))} ms`);

/** The last hour's calls by agents, and the servers. */
export function LastHour({ activity }: { activity: FleetActivity }) {
  const { since, total, latency, callers, rejections, latencies, replicas, database } = activity;
  return (
    <section aria-labelledby="last-hour">
      <h2 id="last-hour">Last hour</h2>
      <Totals
        facts={[
          ['Reads', formatNumber(total.reads)],
          ['Writes', formatNumber(total.writes)],
          ['Rejected', formatNumber(total.rejected)],
          ['Median latency', latency.calls === 0 ? '–' : formatMs(latency.p50_ms)],
          ['95 % within', latency.calls === 0 ? '–' : formatMs(latency.p95_ms)],
          ['Replicas', formatNumber(replicas.length)],
        ]}
      />
      <div class="overview-lists">
        <CardList title="Most calls" empty="No agent has called.">
          {callers.slice(0, ROWS).map((caller) => (
            <Row
              key={callerKey(caller)}
              subject={<ActorLink {...caller} />}
              detail={caller.tenant && <TenantName id={caller.tenant} />}
            >
              {caller.reads > 0 && count(caller.reads, 'read')}
              {caller.reads > 0 && caller.writes > 0 && ', '}
              {caller.writes > 0 && <Writes caller={caller} since={since} />}
            </Row>
          ))}
        </CardList>
        <CardList title="Most rejections" empty="No request was rejected.">
          {rejections.slice(0, ROWS).map((rejected) => (
            <Row
              key={`${callerKey(rejected)} ${rejected.reason}`}
              subject={<ActorLink {...rejected} />}
              detail={rejected.tenant && <TenantName id={rejected.tenant} />}
            >
              <a
                href={toHref(rejected.tenant === null ? ['keys'] : ['tenants', rejected.tenant, 'settings'])}
              >
                {formatNumber(rejected.count)} {rejected.reason.replaceAll('_', ' ')}
              </a>
            </Row>
          ))}
        </CardList>
        <CardList title="Latency" empty="No command ran.">
          {latencies
            .toSorted((one, other) => other.p95_ms - one.p95_ms)
            .slice(0, ROWS)
            .map(({ command, calls, p50_ms, p95_ms }) => (
              <Row key={command} subject={command} detail={count(calls, 'call')}>
                {formatMs(p50_ms)}, 95 % within {formatMs(p95_ms)}
              </Row>
            ))}
        </CardList>
        <CardList title="Servers" empty="">
          {[
            <Row key="database" subject={DATABASES[database.kind]}>
              {database.version}
            </Row>,
            ...replicas.map(({ id, version, started_at: startedAt }) => (
              <Row key={id} subject={`Replica ${id.slice(0, 8)}`}>
                {version}, started <Time value={startedAt} isAge />
              </Row>
            )),
          ]}
        </CardList>
      </div>
    </section>
  );
}

const callerKey = ({ tenant, actor }: Pick<Caller, 'tenant' | 'actor'>) => JSON.stringify([tenant, actor]);

/** The actor, with a link to its key. */
function ActorLink({ actor }: Pick<Caller, 'actor'>) {
  if (actor === null) return <>Unknown caller</>;
  const name = actorText(actor);
  if (actor.type !== 'api_key') return <Name text={name} />;
  return <NameLink href={toHref(['keys'], { search: actor.id })} text={name} />;
}

/** Number of writes, with a link to the changes. */
function Writes({ caller: { tenant, actor, writes }, since }: { caller: Caller; since: string }) {
  const text = count(writes, 'write');
  const by = actor && actorFilter(actor);
  if (tenant === null || !by) return <>{text}</>;
  return <a href={toHref(['tenants', tenant, 'history'], { by, since })}>{text}</a>;
}
