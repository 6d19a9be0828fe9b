import { userInfo } from 'node:os';
import type { Origin } from '../memory/origin.ts';

/** The origin of the changes of a command: the user of the operating system who runs it. */
export function operatorOrigin(): Origin {
  return { actor: { type: 'operator', name: userName() } };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container, a user may have only a number.
    return String(process.getuid?.() ?? 'unknown');
  }
}
