import { useState } from 'preact/hooks';
import type { Tenant } from '../../api/api-types.ts';
import { formatExactTime } from '../../text/format.ts';
import { isBefore, parseTime } from '../../text/time.ts';
import { ActionDialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/fields.tsx';
import type { MoveTo } from './use-steps.ts';

interface Props {
  tenant: Tenant;
  onGo: MoveTo;
  onClose: () => void;
}

/** Asks for a time, as an age or a date, and selects it. */
export function GoToDialog({ tenant, onGo, onClose }: Props) {
  const [text, setText] = useState('');
  const go = async () => {
    const time = parseTime(text, Date.now());
    if (time === null)
      throw new Error(`“${text}” is not a time. Enter 2d, 3h, 2026-11-22, or 2026-11-22 09:30.`);
    if (isBefore(time, tenant.history_since))
      throw new Error(`The history begins at ${formatExactTime(tenant.history_since)}.`);
    onClose();
    await onGo(Date.parse(time) >= Date.now() ? null : time);
  };
  return (
    <ActionDialog title="Go to a time" verb="Go" isReady={text.trim() !== ''} onClose={onClose} onSubmit={go}>
      <TextField
        label="Time"
        hint="An age such as 30m, 3h, 2d, or 1w, or a date such as 2026-11-22 or 2026-11-22 09:30, in your time zone."
        autofocus
        placeholder="2d"
        value={text}
        onChange={setText}
      />
    </ActionDialog>
  );
}
