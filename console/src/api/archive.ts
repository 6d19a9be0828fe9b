import { packTar } from 'modern-tar';

/** What file managers leave in folders, and nobody means to upload. */
const LEFT_OUT = new Set(['.DS_Store', 'Thumbs.db', 'desktop.ini']);

/** A tar archive that puts files into a directory, those of a folder below the folder's name. */
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
