import type { SecretScanner } from '../../core/memory/secrets/secrets.ts';

/** Loads the scanner for `SECRETS` on demand, because loading the scanner is slow. */
export async function loadSecretScanner(): Promise<SecretScanner> {
  const { createSecretScanner } = await import('./scanner.ts');
  return createSecretScanner();
}
