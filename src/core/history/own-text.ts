import { ServiceError } from '../errors/errors.ts';
import { listKinds } from '../memory/commands/memory-command.ts';
import { mask, type Redaction } from '../memory/secrets/secrets.ts';

/**
 * Checks a resolution's text against the tenant's policy on secrets.
 *
 * @returns the text, with secrets masked if the tenant masks secrets
 * @throws ServiceError if the text is not allowed
 */
export async function checkOwnText(
  redaction: Redaction | undefined,
  path: string,
  text: string,
): Promise<string> {
  if (text.includes('\0')) throw new ServiceError('content_has_nul', path);
  if (redaction === undefined) return text;
  const secrets = await redaction.scanner.scan(text);
  if (redaction.mode === 'reject' && secrets.length > 0)
    throw new ServiceError('secrets_in_content', listKinds(secrets));
  return mask(text, secrets);
}
