import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { JobOutcome } from '../../api/incidents-api.ts';
import { toHref } from '../../router.ts';
import { count } from '../../text/format.ts';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { Badge } from '../../ui/inline.tsx';
import { Name } from '../../ui/name.tsx';
import { Empty, LoadError, Loading } from '../../ui/status-messages.tsx';
import { VirtualList } from '../../ui/virtual-list.tsx';
import { ALL, type Choice, chosenTenants, isChosen, isEverything, NONE, toggleTenant } from './choice.ts';
import { errorText } from './incident-texts.ts';
import type { useOutcomes } from './use-outcomes.ts';

const ROW_HEIGHT = 45;

interface Props {
  outcomes: ReturnType<typeof useOutcomes>;
  search: string;
  onSearch: (search: string) => void;
  /** Undefined if no tenants can be chosen. */
  choice: { value: Choice; total: number; onChange: (choice: Choice) => void } | undefined;
  /** Title for an empty list. */
  empty: string;
  describe: (outcome: JobOutcome) => ComponentChildren;
  /** Details about a tenant, which open below the tenant's row. */
  details?: (outcome: JobOutcome) => ComponentChildren;
  /** Content that is always shown below the tenant's row. */
  below?: (outcome: JobOutcome) => ComponentChildren;
  /** A row's buttons. */
  actions?: (outcome: JobOutcome) => ComponentChildren;
}

/** Lists a job's results by tenant, with results that need attention first. Only visible rows are rendered. */
export function OutcomeList({ outcomes, search, onSearch, choice, empty, ...row }: Props) {
  const { items, first: { total } = { total: 0 }, error, more, reload } = outcomes;
  const [opened, setOpened] = useState<string | null>(null);
  const isNarrowed = search !== '';
  return (
    <section class="surface outcomes" aria-label="Results by tenant">
      <div class="controls bar outcomes-head">
        {choice && total > 0 && (
          <label class="check">
            <input
              type="checkbox"
              checked={isEverything(choice.value)}
              ref={(box) => {
                if (box)
                  box.indeterminate = !isEverything(choice.value) && chosenTenants(choice.value, total) > 0;
              }}
              onChange={() => choice.onChange(isEverything(choice.value) ? NONE : ALL)}
            />
            {isNarrowed ? 'All tenants of the job' : `All ${count(total, 'tenant')}`}
          </label>
        )}
        {choice && total > 0 && (
          <strong>{count(chosenTenants(choice.value, choice.total), 'tenant')} selected</strong>
        )}
        <label class="search-field">
          <span class="visually-hidden">Search the results</span>
          <Icon name="search" />
          <input
            type="search"
            placeholder="Tenant"
            value={search}
            onInput={(event) => onSearch(event.currentTarget.value)}
          />
        </label>
      </div>
      {error !== undefined && <LoadError error={error} onRetry={reload} />}
      {items === undefined && error === undefined && <Loading what="the results" />}
      {items?.length === 0 && <Empty title={isNarrowed ? 'No tenant matches' : empty} />}
      {items !== undefined && items.length > 0 && (
        <VirtualList
          class="outcome-rows"
          kind="list"
          label="Tenants"
          count={items.length}
          rowHeight={ROW_HEIGHT}
          onEnd={more}
        >
          {(index) => {
            const outcome = items[index];
            if (outcome === undefined) return null;
            const { tenant } = outcome;
            return (
              <OutcomeRow
                {...row}
                outcome={outcome}
                choice={choice}
                isOpen={opened === tenant}
                onToggle={() => setOpened(opened === tenant ? null : tenant)}
              />
            );
          }}
        </VirtualList>
      )}
    </section>
  );
}

interface RowProps extends Pick<Props, 'choice' | 'describe' | 'details' | 'below' | 'actions'> {
  outcome: JobOutcome;
  isOpen: boolean;
  onToggle: () => void;
}

function OutcomeRow({ outcome, choice, describe, details, below, actions, isOpen, onToggle }: RowProps) {
  const { tenant, error, is_exact, counts } = outcome;
  return (
    <div class="outcome">
      <div class="cluster outcome-row">
        {choice && (
          <input
            type="checkbox"
            aria-label={`Select ${tenant}`}
            checked={isChosen(choice.value, tenant)}
            onChange={() => choice.onChange(toggleTenant(choice.value, tenant, counts))}
          />
        )}
        <a class="name-link" href={toHref(['tenants', tenant])}>
          <Name text={tenant} />
        </a>
        <span class="outcome-text small">
          {error !== null && <Badge kind="bad">{errorText(error)}</Badge>}
          {error === null && !is_exact && <Badge kind="neutral">at least</Badge>} {describe(outcome)}
        </span>
        {actions?.(outcome)}
        {details && error === null && (
          <IconButton
            icon="chevron"
            label={`Hits in ${tenant}`}
            title="Hits"
            class="quiet disclosure"
            aria-expanded={isOpen}
            onClick={onToggle}
          />
        )}
      </div>
      {isOpen && details?.(outcome)}
      {below?.(outcome)}
    </div>
  );
}
