import { useRef, useState } from 'preact/hooks';
import type { Settings, Tenant } from '../../../api/api-types.ts';
import { changeSettings, getTenant, settingsChange } from '../../../api/tenants-api.ts';
import { count, formatNumber } from '../../../text/format.ts';
import type { Question } from '../../../ui/confirm.tsx';
import { Name } from '../../../ui/name.tsx';
import { DEFAULT, parseSetting, SETTINGS, SettingField } from '../../settings/setting-field.tsx';
import { BulkDialog, type BulkProps } from './bulk-dialog.tsx';
import { limitChanges, settingChanges } from './limit-changes.ts';
import { openBulk } from './open-bulk.tsx';
import { chosenTargets, type Target } from './targets.ts';

/** Changes limits and retention for several tenants, and offers to undo the change. */
export function LimitsDialog(props: BulkProps) {
  const [texts, setTexts] = useState<Partial<Record<keyof Settings, string>>>({});
  const changed = useRef(new Map<string, Changed>());
  const changes: Partial<Settings> = Object.fromEntries(
    SETTINGS.filter(([name]) => (texts[name] ?? '') !== '').map(([name, setting]) => {
      const text = texts[name] ?? '';
      return [name, text === DEFAULT ? null : parseSetting(text, setting)];
    }),
  );
  const isReady = Object.keys(changes).length > 0;
  const { isAllMatching, examples } = props.targets;
  const isKnown = isReady && !isAllMatching;
  const change = async (id: string) => {
    // A repeated request keeps the settings from before the first attempt.
    const before = changed.current.get(id)?.before ?? pickSettings(await getTenant(id), changes);
    changed.current.set(id, { before, tenant: await changeSettings(id, changes) });
  };
  return (
    <BulkDialog
      {...props}
      verb="Change settings"
      title={`Change the settings of ${count(props.targets.count, 'tenant')}?`}
      done="Changed the settings of"
      isWide
      isReady={isReady}
      hasInput={isReady}
      request={(id) => settingsChange(id, changes)}
      // The tenants that match a filter are only known when they are read.
      question={isAllMatching ? (targets) => questionAbout(targets, changes) : undefined}
      work={({ id }) => change(id)}
      undo={() => undoChanges(changed.current)}
      examples={isKnown ? <Preview targets={examples} changes={changes} /> : undefined}
    >
      <p>
        Filled fields replace the settings of each tenant. Empty fields keep their setting. Type “{DEFAULT}”
        for the default of the service.
      </p>
      <fieldset class="grid">
        {SETTINGS.map(([name, setting]) => (
          <SettingField
            key={name}
            setting={setting}
            byDefault={null}
            isForSeveral
            value={texts[name] ?? ''}
            onChange={(value) => setTexts({ ...texts, [name]: value })}
          />
        ))}
      </fieldset>
    </BulkDialog>
  );
}

/** A tenant after a change, and its changed settings' values before. */
interface Changed {
  before: Partial<Settings>;
  tenant: Tenant;
}

const pickSettings = ({ settings }: Pick<Tenant, 'settings'>, names: Partial<Settings>): Partial<Settings> =>
  Object.fromEntries(SETTINGS.flatMap(([name]) => (name in names ? [[name, settings[name]]] : [])));

/** Restores the settings from before a change, except in tenants whose settings were changed since. */
async function undoChanges(changed: ReadonlyMap<string, Changed>): Promise<void> {
  const undo = async ({ id }: Target) => {
    const { before = {}, tenant } = changed.get(id) ?? {};
    const now = await getTenant(id);
    const equals = (values: Partial<Settings>) =>
      SETTINGS.every(([name]) => !(name in before) || now.settings[name] === values[name]);
    if (equals(before)) return 'skipped';
    if (!equals(tenant?.settings ?? {})) throw new Error('The settings were changed since.');
    return changeSettings(id, before);
  };
  openBulk.value = {
    Dialog: (props) => (
      <BulkDialog
        {...props}
        verb="Undo"
        title={`Undo the change in ${count(props.targets.count, 'tenant')}?`}
        done="Restored the settings of"
        startsImmediately
        work={undo}
      >
        {null}
      </BulkDialog>
    ),
    targets: chosenTargets([...changed.values()].map(({ tenant }) => tenant)),
  };
}

const SHOWN = 100;

/** Settings before and after a change, by tenant. */
function Preview({ targets, changes }: { targets: readonly Target[]; changes: Partial<Settings> }) {
  const sentences = limitChanges(targets, changes);
  const rows = settingChanges(targets, changes);
  if (rows.length === 0) return <p class="notice">Each tenant already has these settings.</p>;
  return (
    <>
      {sentences.length > 0 && (
        <div class="notice warning" role="status">
          {sentences.map((sentence) => (
            <p key={sentence}>{sentence}</p>
          ))}
        </div>
      )}
      <div class="table-scroll">
        <table class="small">
          <thead>
            <tr>
              <th scope="col">Tenant</th>
              <th scope="col">Setting</th>
              <th scope="col">Before</th>
              <th scope="col">After</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, SHOWN).map(({ tenant, title, before, after }) => (
              <tr key={`${tenant}/${title}`}>
                <th scope="row">
                  <Name text={tenant} />
                </th>
                <td>{title}</td>
                <td class="muted">{before}</td>
                <td>{after}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > SHOWN && <p class="muted small">and {formatNumber(rows.length - SHOWN)} more changes</p>}
    </>
  );
}

/** Shows the changes before they are made; returns null if no tenant's settings change. */
function questionAbout(targets: readonly Target[], changes: Partial<Settings>): Question | null {
  if (settingChanges(targets, changes).length === 0) return null;
  return {
    title: 'Change these settings?',
    text: <Preview targets={targets} changes={changes} />,
    verb: 'Change them',
    isDangerous: true,
  };
}
