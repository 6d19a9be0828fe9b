import type { SecretScanner } from '../../core/memory/secrets/secrets.ts';

/** Loads the scanner of `SECRETS` on demand, because loading it is slow. */
export async function loadSecretScanner(): Promise<SecretScanner> {
  const { createSecretScanner } = await import('./scanner.ts');
  return createSecretScanner();
}
