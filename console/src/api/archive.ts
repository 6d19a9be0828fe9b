import { packTar } from 'modern-tar';

/** Files that file managers create by themselves; an upload skips them. */
const LEFT_OUT = new Set(['.DS_Store', 'Thumbs.db', 'desktop.ini']);

/** Packs files into a tar archive below `directory`. The files of an uploaded directory keep their relative paths. */
export async function archiveOf(directory: string, files: readonly File[]): Promise<Blob> {
  const entries = files
    .filter(({ name }) => !LEFT_OUT.has(name))
    .map((file) => ({
      header: {
        name: `${directory.slice(1)}/${file.webkitRelativePath || file.name}`,
        size: file.size,
        mtime: new Date(file.lastModified),
      },
      body: file,
    }));
  return new Blob([(await packTar(entries)) as Uint8Array<ArrayBuffer>]);
}
