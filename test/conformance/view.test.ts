import { expect, it } from 'vitest';
import { cmd, error, ok, script } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

describeService('view', (service) => {
  script(service, 'lists an empty memory', {}, [
    [
      cmd.view('/memories'),
      ok(
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n4.0K\t/memories",
      ),
    ],
    [
      cmd.view('/memories', [5, 1]),
      ok(
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n4.0K\t/memories",
      ),
    ],
    [cmd.view('/memories/a'), error('The path /memories/a does not exist. Please provide a valid path.')],
  ]);

  script(service, 'distinguishes files and directories with similar names', { '/memories/v1.0/notes': 'x' }, [
    [
      cmd.view('/memories/v1.0'),
      ok(
        "Here're the files and directories up to 2 levels deep in /memories/v1.0, excluding hidden items and node_modules:\n4.0K\t/memories/v1.0\n1B\t/memories/v1.0/notes",
      ),
    ],
    [
      cmd.view('/memories/v1.0/notes'),
      ok("Here's the content of /memories/v1.0/notes with line numbers:\n     1\tx"),
    ],
    [
      cmd.view('/memories/v1.0/notes.md'),
      error('The path /memories/v1.0/notes.md does not exist. Please provide a valid path.'),
    ],
  ]);

  script(
    service,
    "shows text from a path with a picture's extension",
    { '/memories/plan.png': 'A plan:\n- ship it\n', '/memories/cat.JPG': 'data:image/jpeg;base64,/9j/4AAQ' },
    [
      [
        cmd.view('/memories/plan.png'),
        ok(
          "Here's the content of /memories/plan.png with line numbers:\n     1\tA plan:\n     2\t- ship it\n     3\t",
        ),
      ],
      [
        cmd.view('/memories/plan.png', [2, 2]),
        ok("Here's the content of /memories/plan.png with line numbers:\n     2\t- ship it"),
      ],
      [
        cmd.view('/memories/cat.JPG'),
        ok(
          "Here's the content of /memories/cat.JPG with line numbers:\n     1\tdata:image/jpeg;base64,/9j/4AAQ",
        ),
      ],
      [
        cmd.view('/memories/dog.jpg'),
        error('The path /memories/dog.jpg does not exist. Please provide a valid path.'),
      ],
    ],
  );

  script(
    service,
    'lists two levels depth first, without hidden items, node_modules and their contents',
    {
      '/memories/b.txt': 'bb',
      '/memories/a/x.txt': '',
      '/memories/a/deep/deeper/file': 'not shown',
      '/memories/a-b': '1',
      '/memories/a.b': '22',
      '/memories/.hidden': 'no',
      '/memories/.dir/file': 'no',
      '/memories/a/.hidden': 'no',
      '/memories/node_modules/pkg': 'no',
      '/memories/a/node_modules/pkg': 'no',
      '/memories/node_modules2': '',
      '/memories/Z': '',
      '/memories/é': '',
      '/memories/\u{1f600}': '',
      '/memories/\uffee': '',
    },
    [
      [
        cmd.view('/memories'),
        ok(
          "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n4.0K\t/memories\n0B\t/memories/Z\n4.0K\t/memories/a/\n4.0K\t/memories/a/deep/\n0B\t/memories/a/x.txt\n1B\t/memories/a-b\n2B\t/memories/a.b\n2B\t/memories/b.txt\n0B\t/memories/node_modules2\n0B\t/memories/é\n0B\t/memories/\uffee\n0B\t/memories/\u{1f600}",
        ),
      ],
      [
        cmd.view('/memories/a/deep'),
        ok(
          "Here're the files and directories up to 2 levels deep in /memories/a/deep, excluding hidden items and node_modules:\n4.0K\t/memories/a/deep\n4.0K\t/memories/a/deep/deeper/\n9B\t/memories/a/deep/deeper/file",
        ),
      ],
      [
        cmd.view('/memories/.dir'),
        ok(
          "Here're the files and directories up to 2 levels deep in /memories/.dir, excluding hidden items and node_modules:\n4.0K\t/memories/.dir\n2B\t/memories/.dir/file",
        ),
      ],
      [
        cmd.view('/memories/.hidden'),
        ok("Here's the content of /memories/.hidden with line numbers:\n     1\tno"),
      ],
    ],
  );

  script(
    service,
    'formats file sizes in a directory listing',
    {
      '/memories/a0': '',
      '/memories/a1023': 'x'.repeat(1023),
      '/memories/a1024': 'x'.repeat(1024),
      '/memories/a1075': 'x'.repeat(1075),
      '/memories/a1076': 'x'.repeat(1076),
      '/memories/a1536': 'x'.repeat(1536),
      '/memories/a1587': 'x'.repeat(1587),
      '/memories/a1588': 'x'.repeat(1588),
      '/memories/b1048524': 'x'.repeat(1048524),
      '/memories/b1048525': 'x'.repeat(1048525),
      '/memories/b1048576': 'x'.repeat(1048576),
      '/memories/utf8': 'é€😀',
    },
    [
      [
        cmd.view('/memories'),
        ok(
          "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n4.0K\t/memories\n0B\t/memories/a0\n1023B\t/memories/a1023\n1.0K\t/memories/a1024\n1.0K\t/memories/a1075\n1.1K\t/memories/a1076\n1.5K\t/memories/a1536\n1.5K\t/memories/a1587\n1.6K\t/memories/a1588\n1023.9K\t/memories/b1048524\n1.0M\t/memories/b1048525\n1.0M\t/memories/b1048576\n9B\t/memories/utf8",
        ),
      ],
    ],
  );

  script(
    service,
    'numbers lines of an empty file and keeps trailing newlines, CR, tabs and Unicode forms',
    {
      '/memories/empty': '',
      '/memories/newline': '\n',
      '/memories/text': 'one\r\n\ttwo \n\nthree\u2028still three\n',
      '/memories/nfd': 'cafe\u0301\ufeff',
      '/memories/bom': '\ufeffab',
    },
    [
      [cmd.view('/memories/empty'), ok("Here's the content of /memories/empty with line numbers:\n     1\t")],
      [
        cmd.view('/memories/newline'),
        ok("Here's the content of /memories/newline with line numbers:\n     1\t\n     2\t"),
      ],
      [
        cmd.view('/memories/text'),
        ok(
          "Here's the content of /memories/text with line numbers:\n     1\tone\r\n     2\t\ttwo \n     3\t\n     4\tthree\u2028still three\n     5\t",
        ),
      ],
      [
        cmd.view('/memories/nfd'),
        ok("Here's the content of /memories/nfd with line numbers:\n     1\tcafe\u0301\ufeff"),
      ],
      [
        cmd.view('/memories/bom'),
        ok("Here's the content of /memories/bom with line numbers:\n     1\t\ufeffab"),
      ],
      [cmd.insert('/memories/bom', 1, 'x'), ok('The file /memories/bom has been edited.')],
      [
        cmd.view('/memories/bom'),
        ok("Here's the content of /memories/bom with line numbers:\n     1\t\ufeffab\n     2\tx"),
      ],
    ],
  );

  const range = (start: number, end: number) =>
    error(
      `Error: Invalid \`view_range\` parameter: [${start}, ${end}]. It should be within the range of lines of the file: [1, 4]`,
    );
  script(service, 'shows the lines of a view_range', { '/memories/f': 'a\nb\nc\n' }, [
    [
      cmd.view('/memories/f', [2, 3]),
      ok("Here's the content of /memories/f with line numbers:\n     2\tb\n     3\tc"),
    ],
    [
      cmd.view('/memories/f', [3, -1]),
      ok("Here's the content of /memories/f with line numbers:\n     3\tc\n     4\t"),
    ],
    [cmd.view('/memories/f', [-7, 1]), ok("Here's the content of /memories/f with line numbers:\n     1\ta")],
    [cmd.view('/memories/f', [0, 1]), ok("Here's the content of /memories/f with line numbers:\n     1\ta")],
    [cmd.view('/memories/f', [4, 99]), ok("Here's the content of /memories/f with line numbers:\n     4\t")],
    [
      cmd.view('/memories/f', null),
      ok("Here's the content of /memories/f with line numbers:\n     1\ta\n     2\tb\n     3\tc\n     4\t"),
    ],
    [cmd.view('/memories/f', [5, -1]), range(5, -1)],
    [cmd.view('/memories/f', [5, 9]), range(5, 9)],
    [cmd.view('/memories/f', [3, 2]), range(3, 2)],
    [cmd.view('/memories/f', [0, 0]), range(0, 0)],
    [cmd.view('/memories/f', [1, -2]), range(1, -2)],
    [
      cmd.view('/memories/f', [9007199254740991, 9007199254740991]),
      range(9007199254740991, 9007199254740991),
    ],
  ]);
});

describeService('view of a file with many lines', (service) => {
  script(
    service,
    'shows a file of 999,999 lines and rejects one more line',
    { '/memories/most': '\n'.repeat(999_998), '/memories/over': '\n'.repeat(999_999) },
    [
      [
        cmd.view('/memories/most', [999_999, -1]),
        ok("Here's the content of /memories/most with line numbers:\n999999\t"),
      ],
      [cmd.view('/memories/over'), error('File /memories/over exceeds maximum line limit of 999,999 lines.')],
      [
        cmd.view('/memories/over', [1, 2]),
        error('File /memories/over exceeds maximum line limit of 999,999 lines.'),
      ],
    ],
  );
});

describeService(
  'MAX_VIEW_CHARS',
  (service) => {
    const lines = Array.from({ length: 20 }, (_, i) => `line ${i + 1}`).join('\n');
    script(
      service,
      'truncates a file at a line boundary with a hint for the next lines',
      { '/memories/f': lines },
      [
        [
          cmd.view('/memories/f'),
          ok(
            "Here's the content of /memories/f with line numbers:\n     1\tline 1\n     2\tline 2\n     3\tline 3\n[Truncated: showing lines 1 to 3 of 20. Use view_range [4, -1] to read the rest.]",
          ),
        ],
        [
          cmd.view('/memories/f', [4, -1]),
          ok(
            "Here's the content of /memories/f with line numbers:\n     4\tline 4\n     5\tline 5\n     6\tline 6\n[Truncated: showing lines 4 to 6 of 20. Use view_range [7, -1] to read the rest.]",
          ),
        ],
        [
          cmd.view('/memories/f', [19, -1]),
          ok("Here's the content of /memories/f with line numbers:\n    19\tline 19\n    20\tline 20"),
        ],
      ],
      { onlyAtRoot: 'the name of the mount counts' },
    );
    script(
      service,
      'truncates an overlong line and reports the truncation',
      { '/memories/long': `first\n${'😀'.repeat(200)}\nlast` },
      [
        [
          cmd.view('/memories/long', [2, -1]),
          ok(
            `Here's the content of /memories/long with line numbers:\n     2\t${'😀'.repeat(2)}\n[Truncated: showing line 2 of 3, cut after 4 of its 400 characters. Use view_range [3, -1] to read the rest.]`,
          ),
        ],
        [
          cmd.view('/memories/long', [3, -1]),
          ok("Here's the content of /memories/long with line numbers:\n     3\tlast"),
        ],
      ],
      { onlyAtRoot: 'the name of the mount counts' },
    );
    it('returns every line of a long file if the caller follows the hints', async () => {
      const tenant = freshTenant();
      const texts = [lines, '\n'.repeat(50), `${'x'.repeat(99)}\n`.repeat(5), 'y'.repeat(500), 'a\nb'];
      for (const [i, text] of texts.entries()) {
        const path = `/memories/t${i}`;
        await service().execute(cmd.create(path, text), { tenant });
        const seen: string[] = [];
        let next: number | undefined = 1;
        while (next !== undefined) {
          const { content, is_error } = await service().execute(cmd.view(path, [next, -1]), { tenant });
          expect(is_error).toBe(false);
          for (const line of content.split('\n').slice(1)) {
            const numbered = /^ *(\d+)\t(.*)$/.exec(line);
            if (numbered) seen[Number(numbered[1]) - 1] = numbered[2] ?? '';
          }
          const hint: RegExpExecArray | null = /Use view_range \[(\d+), -1\]/.exec(content);
          next = hint ? Number(hint[1]) : undefined;
        }
        const expected = text.split('\n');
        expect(seen.length).toBe(expected.length);
        for (const [n, line] of expected.entries()) expect(line.startsWith(seen[n] ?? '?')).toBe(true);
      }
    });
    script(
      service,
      'truncates a directory listing',
      Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`/memories/f${10 + i}`, ''])),
      [
        [
          cmd.view('/memories'),
          ok(
            "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n4.0K\t/memories\n[Truncated: showing 0 of 12 entries. View a subdirectory to see the rest.]",
          ),
        ],
      ],
    );
  },
  { MAX_VIEW_CHARS: '180' },
);

describeService(
  'MAX_VIEW_CHARS for a directory',
  (service) => {
    script(
      service,
      'truncates a directory listing between entries and reports how many entries there are',
      Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`/memories/f${10 + i}`, ''])),
      [
        [
          cmd.view('/memories'),
          ok(
            "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n4.0K\t/memories\n0B\t/memories/f10\n0B\t/memories/f11\n0B\t/memories/f12\n[Truncated: showing 3 of 12 entries. View a subdirectory to see the rest.]",
          ),
        ],
      ],
      { onlyAtRoot: 'the name of the mount counts' },
    );
  },
  { MAX_VIEW_CHARS: '250' },
);
