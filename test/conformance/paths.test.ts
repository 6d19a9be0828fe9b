import { cmd, error, ok, type Step, script } from '../support/step-table.ts';
import { describeService } from '../support/test-service.ts';

const view = (path: string, expected: string): Step => [cmd.view(path), error(expected)];

describeService('paths', (service) => {
  script(service, 'rejects paths outside /memories', {}, [
    view('/memoriesX', 'Error: Path must start with /memories, got: /memoriesX'),
    view('memories/a', 'Error: Path must start with /memories, got: memories/a'),
    view('/etc/passwd', 'Error: Path must start with /memories, got: /etc/passwd'),
    view('', 'Error: Path must start with /memories, got: '),
    view('/', 'Error: Path must start with /memories, got: /'),
    view('/Memories/a', 'Error: Path must start with /memories, got: /Memories/a'),
    view(' /memories', 'Error: Path must start with /memories, got:  /memories'),
    view('/etc/../memories/a', 'Error: Path must start with /memories, got: /etc/../memories/a'),
  ]);

  script(service, 'rejects paths that escape from /memories, however they are encoded', {}, [
    view('/memories/../etc', 'Error: Path /memories/../etc would escape /memories directory'),
    view('/memories/a/../b', 'Error: Path /memories/a/../b would escape /memories directory'),
    view('/memories/..', 'Error: Path /memories/.. would escape /memories directory'),
    view('/memories/a/..', 'Error: Path /memories/a/.. would escape /memories directory'),
    view('/memories/%2e%2e%2fetc', 'Error: Path /memories/%2e%2e%2fetc would escape /memories directory'),
    view('/memories/%2E%2E/etc', 'Error: Path /memories/%2E%2E/etc would escape /memories directory'),
    view('/memories/%252e%252e/etc', 'Error: Path /memories/%252e%252e/etc would escape /memories directory'),
    view(
      '/memories/%25252e%25252e%25252fx',
      'Error: Path /memories/%25252e%25252e%25252fx would escape /memories directory',
    ),
    view('/memories/.%2e/x', 'Error: Path /memories/.%2e/x would escape /memories directory'),
    view('/memories/..\\x', 'Error: Path /memories/..\\x would escape /memories directory'),
    view('/memories/a\\..\\x', 'Error: Path /memories/a\\..\\x would escape /memories directory'),
    view('/memories/a%5c..%5cx', 'Error: Path /memories/a%5c..%5cx would escape /memories directory'),
    [cmd.create('/memories/../x'), error('Error: Path /memories/../x would escape /memories directory')],
    [
      cmd.replace('/memories/../x', 'a'),
      error('Error: Path /memories/../x would escape /memories directory'),
    ],
    [
      cmd.insert('/memories/../x', 0, 'a'),
      error('Error: Path /memories/../x would escape /memories directory'),
    ],
    [cmd.delete('/memories/../x'), error('Error: Path /memories/../x would escape /memories directory')],
    [
      cmd.rename('/memories/../x', '/memories/y'),
      error('Error: Path /memories/../x would escape /memories directory'),
    ],
    [
      cmd.rename('/memories/y', '/memories/../x'),
      error('Error: Path /memories/../x would escape /memories directory'),
    ],
  ]);

  script(service, 'accepts paths that only resemble an escape', {}, [
    [cmd.create('/memories/...'), ok('File created successfully at: /memories/...')],
    [cmd.create('/memories/..a'), ok('File created successfully at: /memories/..a')],
    [cmd.create('/memories/a..'), ok('File created successfully at: /memories/a..')],
    [cmd.create('/memories/100%'), ok('File created successfully at: /memories/100%')],
    [cmd.create('/memories/%41'), ok('File created successfully at: /memories/%41')],
    [cmd.view('/memories/A'), error('The path /memories/A does not exist. Please provide a valid path.')],
  ]);

  script(service, 'rejects paths with forbidden characters', {}, [
    view(
      '/memories/a\0b',
      'Error: Path "/memories/a\\u0000b" contains a character that is not allowed: U+0000',
    ),
    view('/memories/a\nb', 'Error: Path "/memories/a\\nb" contains a character that is not allowed: U+000A'),
    view(
      '/memories/a\u0085b',
      'Error: Path "/memories/a\\u0085b" contains a character that is not allowed: U+0085',
    ),
    view(
      '/memories/a\u200bb',
      'Error: Path "/memories/a\\u200bb" contains a character that is not allowed: U+200B',
    ),
    view(
      '/memories/a\u202eb',
      'Error: Path "/memories/a\\u202eb" contains a character that is not allowed: U+202E',
    ),
    view(
      '/memories/a\u2028b',
      'Error: Path "/memories/a\\u2028b" contains a character that is not allowed: U+2028',
    ),
    view(
      '/memories/a\u2029b',
      'Error: Path "/memories/a\\u2029b" contains a character that is not allowed: U+2029',
    ),
    view('/memories/a\\b', 'Error: Path "/memories/a\\\\b" contains a character that is not allowed: U+005C'),
    view(
      '/memories/a\ud83db',
      'Error: Path "/memories/a\\ud83db" contains a character that is not allowed: U+D83D',
    ),
    view(
      '/memories/\udc00',
      'Error: Path "/memories/\\udc00" contains a character that is not allowed: U+DC00',
    ),
    view(
      '/memories/\u{e0001}x',
      'Error: Path "/memories/\\udb40\\udc01x" contains a character that is not allowed: U+E0001',
    ),
  ]);

  const long = `/memories/${'x'.repeat(250)}/${'x'.repeat(250)}/${'x'.repeat(250)}/${'x'.repeat(250)}`;
  const deep = `/memories${'/d'.repeat(20)}`;
  script(
    service,
    'accepts paths at the length limits and rejects longer paths',
    {},
    [
      [cmd.create(`${long}/${'y'.repeat(10)}`), ok(`File created successfully at: ${long}/yyyyyyyyyy`)],
      [cmd.create(`${long}/${'y'.repeat(11)}`), error('Error: Path is too long: 1025 bytes (limit 1024)')],
      [
        cmd.create(`/memories/${'é'.repeat(127)}z`),
        ok(`File created successfully at: /memories/${'é'.repeat(127)}z`),
      ],
      [
        cmd.create(`/memories/${'é'.repeat(128)}`),
        error('Error: Path is too long: a segment of 256 bytes (limit 255)'),
      ],
      [cmd.create(deep), ok(`File created successfully at: ${deep}`)],
      [cmd.create(`${deep}/e`), error('Error: Path is too long: 21 levels below /memories (limit 20)')],
    ],
    { onlyAtRoot: 'the name of the mount counts' },
  );

  script(service, 'canonicalizes the slashes, dots, and Unicode forms of a path', {}, [
    [cmd.create('//memories///a//./b.txt/', 'x'), ok('File created successfully at: /memories/a/b.txt')],
    [
      cmd.view('/memories/a/b.txt'),
      ok("Here's the content of /memories/a/b.txt with line numbers:\n     1\tx"),
    ],
    [
      cmd.view('/./memories/./a/./b.txt'),
      ok("Here's the content of /memories/a/b.txt with line numbers:\n     1\tx"),
    ],
    [
      cmd.view('/memories/'),
      ok(
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n4.0K\t/memories\n4.0K\t/memories/a/\n1B\t/memories/a/b.txt",
      ),
    ],
    [cmd.create('/memories/cafe\u0301', 'x'), ok('File created successfully at: /memories/caf\u00e9')],
    [cmd.create('/memories/caf\u00e9', 'x'), error('Error: File /memories/caf\u00e9 already exists')],
    [cmd.create('/memories/%_*?[]$\'";--', 'x'), ok('File created successfully at: /memories/%_*?[]$\'";--')],
    [cmd.delete('/memories/%_*?[]$\'";--'), ok('Successfully deleted /memories/%_*?[]$\'";--')],
  ]);
});
