import { userInfo } from 'node:os';
import type { Origin } from '../memory/origin.ts';

/** The origin of what a command changes: the operating system's user that runs it. */
export function operatorOrigin(): Origin {
  return { actor: { type: 'operator', name: userName() } };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container a user may have a number only.
    return String(process.getuid?.() ?? 'unknown');
  }
}
