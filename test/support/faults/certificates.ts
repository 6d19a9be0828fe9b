/** Certificates for a TLS server, created with `openssl`. */
import { execFile } from 'node:child_process';
import { chmodSync, chownSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { asNobody } from '../postgres/binaries.ts';

const run = promisify(execFile);

/**
 * Creates a self-signed certificate, which is its own CA, and its key.
 *
 * @param directory place for `NAME.crt` and `NAME.key`, readable for the user that runs Postgres
 * @param options.host IP address that the certificate is for
 */
export async function makeCertificate(
  directory: string,
  name: string,
  { host = '127.0.0.1' }: { host?: string } = {},
): Promise<{ certificate: string; key: string }> {
  const [certificate, key] = [join(directory, `${name}.crt`), join(directory, `${name}.key`)];
  const options = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=IP:${host}`];
  await run('openssl', ['req', ...options, ...subject, '-days', '1', '-keyout', key, '-out', certificate]);
  chmodSync(key, 0o600);
  if (asNobody) for (const file of [key, certificate]) chownSync(file, asNobody.uid, asNobody.gid);
  return { certificate, key };
}
