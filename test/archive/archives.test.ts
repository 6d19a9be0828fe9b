/**
 * Archives that `import` rejects with an actionable message and without any change.
 *
 * @module-tag long-on-pglite
 */
import { gzipSync } from 'node:zlib';
import { afterAll, expect, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { createArchive, END, entry, pax } from '../support/create-archive.ts';
import { assertInvariants } from '../support/invariants.ts';
import { describeService } from '../support/test-service.ts';
import { expectImportRejection, tenantWith } from '../support/transfer-files.ts';

const good = entry({ name: 'memories/good', content: 'good' });
const archiveWith = (...entries: Buffer[]) => Buffer.concat([good, ...entries, END]);
const file = (name: string | Buffer, content: string | Buffer = 'x') => entry({ name, content });
const latin1 = Buffer.from('memories/caf\xE9', 'latin1');

const ARCHIVES: [title: string, archive: Buffer, message: string][] = [
  [
    'a parent directory',
    archiveWith(file('memories/../x')),
    'Cannot import memories/../x: Path memories/../x would escape /memories directory',
  ],
  [
    'a leading parent directory',
    archiveWith(file('../memories/x')),
    'Cannot import ../memories/x: Path ../memories/x would escape /memories directory',
  ],
  [
    'a disguised parent directory',
    archiveWith(file('memories/%2e%2e/x')),
    'Cannot import memories/%2e%2e/x: Path /memories/%2e%2e/x would escape /memories directory',
  ],
  [
    'an absolute path',
    archiveWith(file('/etc/passwd')),
    'Cannot import /etc/passwd: Path must start with /memories, got: /etc/passwd',
  ],
  [
    'an entry outside the memories directory',
    archiveWith(file('etc/passwd')),
    'Cannot import etc/passwd: it is not below memories/, and no destination directory is given. Choose one with --into, for example --into /memories.',
  ],
  [
    'a control character',
    archiveWith(file('memories/\u001b[2J')),
    'Cannot import memories/\\u001B[2J: Path "/memories/\\u001b[2J" contains a character that is not allowed: U+001B',
  ],
  [
    'a path that is too long',
    archiveWith(pax({ path: `memories/${'n'.repeat(256)}` }), file('x')),
    `Cannot import memories/${'n'.repeat(256)}: Path is too long: a segment of 256 bytes (limit 255)`,
  ],
  [
    'a path of one megabyte',
    archiveWith(pax({ path: `memories/${'n/'.repeat(300_000)}` }), file('x')),
    `Cannot import memories/${'n/'.repeat(145)}n…: Path is too long: 600009 bytes (limit 1024)`,
  ],
  [
    'a symbolic link',
    archiveWith(entry({ name: 'memories/link', type: '2', link: '/etc/passwd' })),
    'Cannot import memories/link: it is a symbolic link; a memory holds only files and directories. Leave it out, or include its target instead (tar --dereference).',
  ],
  [
    'a hard link',
    archiveWith(entry({ name: 'memories/link', type: '1', link: 'memories/good' })),
    'Cannot import memories/link: it is a hard link; a memory holds only files and directories. Pack the file itself: tar --hard-dereference.',
  ],
  [
    'a character device',
    archiveWith(entry({ name: 'memories/null', type: '3' })),
    'Cannot import memories/null: it is a device; a memory holds only files and directories. Leave it out.',
  ],
  [
    'a block device',
    archiveWith(entry({ name: 'memories/sda', type: '4' })),
    'Cannot import memories/sda: it is a device; a memory holds only files and directories. Leave it out.',
  ],
  [
    'a named pipe',
    archiveWith(entry({ name: 'memories/pipe', type: '6' })),
    'Cannot import memories/pipe: it is a named pipe; a memory holds only files and directories. Leave it out.',
  ],
  [
    'an unknown entry type',
    archiveWith(entry({ name: 'memories/new', type: 'S' })),
    'Cannot import memories/new: it is of an unknown type; a memory holds only files and directories. Leave it out.',
  ],
  [
    'a sparse file',
    archiveWith(
      pax({ 'GNU.sparse.major': '1', 'GNU.sparse.realsize': '10737418240' }),
      file('memories/zeros'),
    ),
    'Cannot import memories/zeros: it is stored as a sparse file. Create the archive without --sparse.',
  ],
  [
    'a name that is not UTF-8',
    archiveWith(file(latin1)),
    'Cannot import memories/caf\\xE9: its name is not UTF-8. Rename it, for example with: convmv -f latin1 -t utf-8',
  ],
  [
    'an extended name that is not UTF-8',
    archiveWith(pax({ path: latin1 }), file('x')),
    'Cannot import memories/caf\uFFFD: its name is not UTF-8. Rename it, for example with: convmv -f latin1 -t utf-8',
  ],
  [
    'a GNU long name that is not UTF-8',
    archiveWith(
      entry({ name: '././@LongLink', type: 'L', content: Buffer.concat([latin1, Buffer.alloc(1)]) }),
      file('x'),
    ),
    'Cannot import memories/caf\\xE9: its name is not UTF-8. Rename it, for example with: convmv -f latin1 -t utf-8',
  ],
  [
    'content that is not UTF-8',
    archiveWith(file('memories/logo.png', Buffer.from('\x89PNG', 'latin1'))),
    'Cannot import memories/logo.png: its content is not UTF-8 text. Leave it out.',
  ],
  [
    'content with NUL',
    archiveWith(file('memories/nul', 'a\0b')),
    'Cannot import memories/nul: its content contains a NUL character (U+0000), which cannot be stored. Leave it out.',
  ],
  [
    'a duplicate file',
    archiveWith(file('memories/a'), file('./memories//a')),
    'Cannot import ./memories//a: /memories/a is in the archive twice.',
  ],
  [
    'a file that is a directory',
    archiveWith(file('memories/a/b'), file('memories/a')),
    'Cannot import memories/a: /memories/a would be both a file and a directory.',
  ],
  [
    'a file below a file',
    archiveWith(file('memories/a'), file('memories/a/b/c')),
    'Cannot import memories/a/b/c: /memories/a would be both a file and a directory.',
  ],
  [
    'a file in place of the root',
    archiveWith(file('memories')),
    'Cannot import memories: /memories would be both a file and a directory.',
  ],
  [
    'two names for one path',
    archiveWith(file('memories/\u00e9'), file('memories/e\u0301')),
    'Cannot import /memories/e\u0301: its path equals that of another entry after normalization to Unicode NFC: /memories/e\\u0301 and /memories/\\u00E9. Rename one of them.',
  ],
  [
    'two names for one directory',
    archiveWith(file('memories/\u00e9/a'), file('memories/e\u0301/b')),
    'Cannot import /memories/e\u0301: its path equals that of another entry after normalization to Unicode NFC: /memories/e\\u0301 and /memories/\\u00E9. Rename one of them.',
  ],
  [
    'a file that is too large',
    archiveWith(file('memories/large', 'x'.repeat(2049))),
    'Cannot import memories/large: it has 2049 bytes, and the maximum file size of {tenant} is 2048. Leave it out, or raise the limit with: memory-service tenants set {tenant} --max-file-bytes 2049',
  ],
  [
    'an archive truncated inside a file',
    archiveWith(file('memories/b', 'x'.repeat(2000))).subarray(0, 3000),
    'The archive is truncated. Create or copy it again.',
  ],
  [
    'an archive truncated inside a header',
    archiveWith(file('memories/b')).subarray(0, 1300),
    'The archive is truncated. Create or copy it again.',
  ],
  ['an archive truncated between two files', good, 'The archive is truncated. Create or copy it again.'],
  [
    'an archive truncated between an extended name and its file',
    Buffer.concat([good, pax({ path: 'memories/x' })]),
    'The archive is truncated. Create or copy it again.',
  ],
  [
    'empty input',
    Buffer.alloc(0),
    'This is not a tar archive, or it is damaged. If it is compressed, decompress it first. For example: gunzip -c archive.tar.gz | memory-service import <tenant> -',
  ],
  ['an empty archive', END, 'The archive is empty.'],
  [
    'an archive with a flipped bit',
    Buffer.from(archiveWith(file('memories/b'))).fill(0xff, 1030, 1031),
    'This is not a tar archive, or it is damaged. If it is compressed, decompress it first. For example: gunzip -c archive.tar.gz | memory-service import <tenant> -',
  ],
  [
    'a compressed archive',
    gzipSync(archiveWith()),
    'This is not a tar archive, or it is damaged. If it is compressed, decompress it first. For example: gunzip -c archive.tar.gz | memory-service import <tenant> -',
  ],
  [
    'two concatenated archives',
    Buffer.concat([archiveWith(), createArchive({ 'memories/b': 'b' })]),
    'Cannot import memories/b: it comes after the end of the archive. If the file holds several archives, import each separately.',
  ],
];

describeService('invalid archives', (service) => {
  afterAll(() => assertInvariants(service()));

  it.each(ARCHIVES)('rejects an import if the archive is invalid: %s', async (_title, stdin, message) => {
    const tenant = await tenantWith(service(), { '/memories/old': 'old' });
    await new Tenants(service().database).set(tenant, { maxFileBytes: 2048 });
    expect(await expectImportRejection(service(), tenant, ['-'], { stdin })).toBe(message);
  });
});
