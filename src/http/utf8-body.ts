import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import { ServiceError } from '../errors.ts';

/** Why a body is not text in UTF-8 as it is; undefined when it is. */
export function utf8Problem(headers: IncomingHttpHeaders, body: Buffer): ServiceError | undefined {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    return new ServiceError('unsupported_content_encoding');
  }
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) return new ServiceError('unsupported_charset');
  return isUtf8(body) ? undefined : new ServiceError('invalid_utf8');
}
