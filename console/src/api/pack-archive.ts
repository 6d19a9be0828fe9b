import { createTarPacker, packTar } from 'modern-tar';

/** Files that file managers create by themselves; an upload skips them. */
const LEFT_OUT = new Set(['.DS_Store', 'Thumbs.db', 'desktop.ini']);

/** Packs files into a tar archive below `directory`. Files in an uploaded directory keep their relative paths. */
export async function packArchive(directory: string, files: readonly File[]): Promise<Blob> {
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

/** Packs archives into one tar archive. The browser may keep the result on disk. */
export async function packArchives(archives: readonly { name: string; archive: Blob }[]): Promise<Blob> {
  const { readable, controller } = createTarPacker();
  const packed = new Response(readable).blob();
  for (const { name, archive } of archives) {
    await archive.stream().pipeTo(controller.add({ name, size: archive.size, mtime: new Date() }));
  }
  controller.finalize();
  return packed;
}
