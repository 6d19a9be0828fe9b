import { useState } from 'preact/hooks';
import type { Settings } from '../../../api/api-types.ts';
import { changeSettings, settingsChange } from '../../../api/tenants-api.ts';
import { count } from '../../../text/format.ts';
import type { Question } from '../../../ui/confirm.tsx';
import { DEFAULT, parseSetting, SETTINGS, SettingField } from '../../settings/setting-field.tsx';
import { BulkDialog, type BulkProps } from './bulk-dialog.tsx';
import { limitChanges } from './limit-changes.ts';

/** Changes limits and retention for several tenants. */
export function LimitsDialog(props: BulkProps) {
  const [texts, setTexts] = useState<Partial<Record<keyof Settings, string>>>({});
  const changes: Partial<Settings> = Object.fromEntries(
    SETTINGS.filter(([name]) => (texts[name] ?? '') !== '').map(([name, setting]) => {
      const text = texts[name] ?? '';
      return [name, text === DEFAULT ? null : parseSetting(text, setting)];
    }),
  );
  const isReady = Object.keys(changes).length > 0;
  const { isAllMatching, examples } = props.targets;
  const known = isAllMatching ? [] : limitChanges(examples, changes);
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
      question={isAllMatching ? (targets) => questionAbout(limitChanges(targets, changes)) : undefined}
      work={({ id }) => changeSettings(id, changes)}
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
      {known.length > 0 && (
        <div class="notice warning" role="status">
          {known.map((sentence) => (
            <p key={sentence}>{sentence}</p>
          ))}
        </div>
      )}
    </BulkDialog>
  );
}

/** Asks before limits are raised or lowered. */
function questionAbout(sentences: readonly string[]): Question | null {
  if (sentences.length === 0) return null;
  return {
    title: 'Change these limits?',
    text: sentences.map((sentence) => (
      <span key={sentence} class="block">
        {sentence}
      </span>
    )),
    verb: 'Change them',
    isDangerous: true,
  };
}
