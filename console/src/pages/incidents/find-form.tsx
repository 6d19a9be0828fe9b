import { useState } from 'preact/hooks';
import { MODES, modesFrom } from '../../../../src/features/search/modes.ts';
import { findRequest, type Part, type Place } from '../../api/incidents-api.ts';
import { Button } from '../../ui/button.tsx';
import { CopyAs } from '../../ui/copy-as.tsx';
import { CheckField, SelectField, TextArea } from '../../ui/fields.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Options } from '../../ui/options.tsx';
import { Segmented } from '../../ui/segmented.tsx';
import { ErrorText } from '../../ui/status-messages.tsx';
import { useAction } from '../../ui/use-load.ts';
import { ActorFields } from './actor-fields.tsx';
import { type FormInput, readFind, readTenants } from './form-input.ts';
import { describeTenants, PARTS, PLACES } from './incident-texts.ts';
import { openJob } from './open-job.ts';
import { changeForm, currentForm } from './state.ts';
import { UndoDialog } from './undo-dialog.tsx';

const KINDS = modesFrom('literal').map((mode) => [mode, MODES[mode].form.label] as const);
const EXACT = 'This very text, byte for byte.';
const SCOPES: readonly (readonly [FormInput['scope'], string])[] = [
  ['all', 'All tenants'],
  ['filter', 'Filter'],
  ['some', 'Chosen'],
];
const STATES = { '': 'Any state', active: 'Active', suspended: 'Suspended', archived: 'Archived' };

/** Form that starts a find, or the dry run for a revert. */
export function FindForm() {
  const input = currentForm();
  const [isUndoing, setIsUndoing] = useState(false);
  const action = useAction();
  const find = readFind(input);
  const tenants = readTenants(input);
  const request = 'body' in find ? findRequest(find.body) : undefined;
  const start = () =>
    action.run(async () => {
      if (request !== undefined) await openJob(request, input.text);
    });
  return (
    <form
      class="card stack incident-form"
      onSubmit={(event) => {
        event.preventDefault();
        void start();
      }}
    >
      <label>
        Text to find
        <textarea
          rows={2}
          autofocus
          spellcheck={false}
          maxLength={1000}
          value={input.text}
          onInput={(event) => changeForm({ text: event.currentTarget.value })}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            event.currentTarget.form?.requestSubmit();
          }}
        />
        <span class="hint">
          {input.mode === 'literal' && input.exact ? EXACT : MODES[input.mode].form.hint}
        </span>
      </label>
      <div class="controls">
        <Segmented
          label="Kind of text"
          options={KINDS}
          value={input.mode}
          onChange={(mode) => changeForm({ mode })}
        />
        {input.mode === 'literal' && (
          <CheckField checked={input.exact} onChange={(exact) => changeForm({ exact })}>
            Exact
          </CheckField>
        )}
        {input.mode === 'literal' && input.exact && (
          <CheckField checked={input.ignore_case} onChange={(ignore_case) => changeForm({ ignore_case })}>
            Ignore case
          </CheckField>
        )}
      </div>
      <Tenants input={input} />
      <More input={input} />
      <ErrorText message={action.error} />
      <div class="controls">
        <button type="submit" class="primary" disabled={request === undefined || action.isRunning}>
          <Icon name="search" /> Find
        </button>
        <Button
          icon="restore"
          text="Undo the changes by an actor…"
          disabled={'problem' in tenants || action.isRunning}
          onClick={() => setIsUndoing(true)}
        />
        {request === undefined && input.text !== '' && 'problem' in find && (
          <span class="muted small" role="status">
            {find.problem}
          </span>
        )}
        {request && <CopyAs request={request} />}
      </div>
      {isUndoing && 'body' in tenants && (
        <UndoDialog
          fields={input}
          tenants={tenants.body}
          where={describeTenants({ selection: tenants.body, only_tenants: tenants.body.ids ?? null })}
          onClose={() => setIsUndoing(false)}
        />
      )}
    </form>
  );
}

function Tenants({ input }: { input: FormInput }) {
  return (
    <fieldset class="rows">
      <legend>Where</legend>
      <Segmented
        label="Tenants"
        options={SCOPES}
        value={input.scope}
        onChange={(scope) => changeForm({ scope })}
      />
      {input.scope === 'some' && (
        <TextArea
          label="IDs of tenants"
          hint="Separated by spaces, commas, or lines. At most 1,000."
          rows={2}
          spellcheck={false}
          value={input.ids}
          onChange={(ids) => changeForm({ ids })}
        />
      )}
      {input.scope === 'filter' && (
        <div class="fields">
          <label class="grows">
            ID or name contains
            <input
              value={input.search}
              onInput={(event) => changeForm({ search: event.currentTarget.value })}
            />
          </label>
          <SelectField
            label="State"
            texts={STATES}
            value={input.status}
            onChange={(status) => changeForm({ status })}
          />
          <label class="grows">
            Metadata
            <textarea
              rows={1}
              spellcheck={false}
              placeholder="plan=pro"
              value={input.metadata}
              onInput={(event) => changeForm({ metadata: event.currentTarget.value })}
            />
          </label>
        </div>
      )}
    </fieldset>
  );
}

/** Options that narrow the find. They are open if one of them is set. */
function More({ input }: { input: FormInput }) {
  const { places, actor, since } = input;
  const isNarrow = input.in !== 'both' || places.length < 3 || actor !== '' || since !== '';
  const toggle = (place: Place) =>
    changeForm({
      places: (Object.keys(PLACES) as Place[]).filter((each) =>
        each === place ? !places.includes(place) : places.includes(each),
      ),
    });
  return (
    <details open={isNarrow}>
      <summary>Narrow the search</summary>
      <div class="controls">
        {(Object.keys(PLACES) as Place[]).map((place) => (
          <CheckField key={place} checked={places.includes(place)} onChange={() => toggle(place)}>
            {PLACES[place]}
          </CheckField>
        ))}
        <label class="inline">
          Search
          <select
            value={input.in}
            onChange={({ currentTarget: { value } }) => changeForm({ in: value as Part })}
          >
            <Options texts={PARTS} />
          </select>
        </label>
      </div>
      <ActorFields input={input} onChange={changeForm} always="Any time" />
    </details>
  );
}
