import { ServiceError } from '../errors/errors.ts';
import { loadSecretScanner } from '../memory/secrets/load-scanner.ts';
import { mask } from '../memory/secrets/secrets.ts';
import type { EffectiveSettings } from '../tenants/settings.ts';

/**
 * Checks the text of a resolution against the tenant's policy on secrets.
 *
 * @returns the text, with secrets masked if the tenant masks secrets
 * @throws ServiceError if the text is not allowed
 */
export async function checkOwnText(
  { secrets: mode }: Pick<EffectiveSettings, 'secrets'>,
  path: string,
  text: string,
): Promise<string> {
  if (text.includes('\0')) throw new ServiceError('content_has_nul', path);
  if (mode === 'store') return text;
  const secrets = await (await loadSecretScanner()).scan(text);
  if (mode === 'reject' && secrets.length > 0)
    throw new ServiceError('secrets_in_content', [...new Set(secrets.map(({ kind }) => kind))]);
  return mask(text, secrets);
}
