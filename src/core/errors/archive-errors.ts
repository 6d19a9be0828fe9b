import { describeSecrets, removalAdvice } from '../lib/secret-kinds.ts';
import { amount, quotaAmount } from '../lib/units.ts';
import { reasonFor } from './definition.ts';

const rejected = reasonFor('rejected');
const overQuota = reasonFor('over_quota');

/**
 * Defines an error for an entry in an archive or a directory that cannot be imported. The caller must make `name`
 * printable.
 */
const entry = <Values extends unknown[]>(why: (...values: Values) => string) =>
  rejected((name: string, ...values: Values) => `Cannot import ${name}: ${why(...values)}`);

const unsupported = (type: string, advice: string) =>
  entry(() => `it is ${type}; a memory holds only files and directories. ${advice}`);

/** Errors in exports and imports. */
export const ARCHIVE_ERRORS = {
  entry_after_end: entry(
    () =>
      'it comes after the end of the archive. If the file holds several archives, import each separately.',
  ),
  entry_size_invalid: entry(() => 'its size is not a number of bytes. Create the archive again.'),
  entry_sparse: entry(() => 'it is stored as a sparse file. Create the archive without --sparse.'),
  entry_symlink: unsupported(
    'a symbolic link',
    'Leave it out, or include its target instead (tar --dereference).',
  ),
  entry_link: unsupported('a hard link', 'Pack the file itself: tar --hard-dereference.'),
  entry_device: unsupported('a device', 'Leave it out.'),
  entry_fifo: unsupported('a named pipe', 'Leave it out.'),
  entry_socket: unsupported('a socket', 'Leave it out.'),
  entry_type_unknown: unsupported('of an unknown type', 'Leave it out.'),
  entry_name_not_utf8: entry(
    () => 'its name is not UTF-8. Rename it, for example with: convmv -f latin1 -t utf-8',
  ),
  entry_without_name: entry(() => 'it has no name.'),
  entry_path_invalid: entry((problem: string) => problem),
  entry_stripped_away: entry(
    (stripped: number) => `removing ${stripped} leading segments leaves nothing of its path.`,
  ),
  entry_path_absolute: entry(
    () => 'its path is absolute; below a destination directory, paths must be relative.',
  ),
  entry_outside_memories: entry(() => 'it is not below memories/, and no destination directory is given.'),
  entry_file_and_directory: entry((path: string) => `${path} would be both a file and a directory.`),
  entry_twice: entry((path: string) => `${path} is in the archive twice.`),
  entry_same_name: entry(
    (spelled: string, other: string) =>
      `its path equals that of another entry after normalization to Unicode NFC: ${spelled} and ${other}. Rename one of them.`,
  ),
  entry_too_large: entry(
    (bytes: number, tenant: string, maxBytes: number) =>
      `it has ${bytes} bytes, and the maximum file size of ${tenant} is ${maxBytes}.`,
  ),
  entry_larger_than_any: entry(
    (bytes: number, maxBytes: number) => `it has ${bytes} bytes; the maximum is ${maxBytes}.`,
  ),
  entry_has_nul: entry(
    () => 'its content contains a NUL character (U+0000), which cannot be stored. Leave it out.',
  ),
  entry_not_utf8: entry(() => 'its content is not UTF-8 text. Leave it out.'),
  entry_has_secret: entry(
    (kinds: readonly string[]) => `it contains ${describeSecrets(kinds)}. ${removalAdvice(kinds)}.`,
  ),
  entry_path_has_secret: entry(
    (kinds: readonly string[]) => `its path contains ${describeSecrets(kinds)}. Rename it, or leave it out.`,
  ),
  entry_lists_secret_path: entry(
    (path: string, kinds: readonly string[]) =>
      `a path in it, ${path}, contains ${describeSecrets(kinds)}. Redact the versions with that path and export again, or import only the directory memories/ of the archive, without the history.`,
  ),
  entry_history_not_placeable: entry(
    () =>
      'an archive with a history can be imported only as a whole, at its own paths. Unpack it, and import its directory memories/.',
  ),
  history_damaged: rejected(
    (what: string) =>
      `The history in the archive is damaged: ${what}. Export it again, or import only the directory memories/ of the archive, without the history.`,
  ),
  archive_empty: rejected(() => 'The archive is empty.'),
  not_an_archive: rejected(
    () => 'This is not a tar archive, or it is damaged. If it is compressed, decompress it first.',
  ),
  archive_truncated: rejected(() => 'The archive is truncated. Create or copy it again.'),
  archive_unreadable: rejected((systemCode: string) => `Cannot read the archive (${systemCode}).`),
  directory_unreadable: rejected(
    (path: string, systemCode: string) => `Cannot read ${path} (${systemCode}).`,
  ),
  directory_without_memories: rejected(
    (directory: string) =>
      `${directory} is not named memories and contains no directory memories, and no destination directory is given.`,
  ),
  paths_in_use: rejected(
    (paths: readonly string[], total: number) =>
      `${amount(total, 'path')} ${total === 1 ? 'is' : 'are'} already in use:${paths.map((path) => `\n  ${path}`).join('')}${
        total > paths.length ? `\n  and ${total - paths.length} more` : ''
      }\nDelete or rename what is there, or import into another directory.`,
  ),
  secrets_setting_changed: rejected(
    (tenant: string) =>
      `The setting SECRETS of tenant ${tenant} changed while the archive was read. Import it again.`,
  ),
  import_too_large: overQuota(
    (tenant: string, of: 'files' | 'bytes', limit: number) =>
      `The import has more than the ${quotaAmount(limit, of)} that ${tenant} may have.`,
  ),
  export_failed: rejected(
    (systemCode: string) =>
      `The archive is incomplete because writing it failed (${systemCode}). Do not use it.`,
  ),
  no_temporary_file: rejected(
    (directory: string, systemCode: string, work: 'export' | 'import') =>
      `Cannot write a temporary file in ${directory} (${systemCode}). Set TMPDIR to a directory with room for the ${work}.`,
  ),
};
