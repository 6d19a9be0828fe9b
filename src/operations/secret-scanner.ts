import type { SecretScanner } from '../memory/redactor.ts';

/** The scanner behind `REDACT`. Loaded on demand, because loading it is slow. */
export async function loadSecretScanner(): Promise<SecretScanner> {
  const { createSecretScanner } = await import('../redaction/scanner.ts');
  return createSecretScanner();
}
