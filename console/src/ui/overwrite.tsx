import { revealHidden } from '../text/visible.tsx';
import { confirm } from './confirm.tsx';

/** A value that someone else changed after the form was opened. */
export interface NewerValue {
  name: string;
  /** The current value. */
  now: string;
}

/** Asks before a save replaces newer values. Returns whether the save may continue. */
export async function mayOverwrite(newer: readonly NewerValue[]): Promise<boolean> {
  if (newer.length === 0) return true;
  return confirm({
    title: 'Overwrite a newer change?',
    text: (
      <>
        Someone else has changed this since you opened it.
        {newer.map(({ name, now }) => (
          <span key={name} class="block">
            {name} is now: <bdi>{revealHidden(now)}</bdi>
          </span>
        ))}
      </>
    ),
    verb: 'Overwrite',
    isDangerous: true,
  });
}
