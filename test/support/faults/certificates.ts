/** Certificates of a TLS server that a test makes with `openssl`. */
import { execFile } from 'node:child_process';
import { chmodSync, chownSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { asNobody } from '../postgres/binaries.ts';

const run = promisify(execFile);

/**
 * Makes a self-signed certificate, which is its own CA, and its key.
 *
 * @param folder of `NAME.crt` and `NAME.key`, which the user that runs Postgres can read
 * @param options.host whom the certificate is for: an IP address
 */
export async function makeCertificate(
  folder: string,
  name: string,
  { host = '127.0.0.1' }: { host?: string } = {},
): Promise<{ certificate: string; key: string }> {
  const [certificate, key] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)];
  const options = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=IP:${host}`];
  await run('openssl', ['req', ...options, ...subject, '-days', '1', '-keyout', key, '-out', certificate]);
  chmodSync(key, 0o600);
  if (asNobody) for (const file of [key, certificate]) chownSync(file, asNobody.uid, asNobody.gid);
  return { certificate, key };
}
