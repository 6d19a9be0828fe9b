import { cmd, error, ok, script } from '../support/step-table.ts';
import { describeService } from '../support/test-service.ts';

const listing = (lines: string) =>
  ok(
    `Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n${lines}`,
  );

describeService('create', (service) => {
  script(service, 'creates a file only once', {}, [
    [cmd.create('/memories/a.txt', 'x'), ok('File created successfully at: /memories/a.txt')],
    [cmd.create('/memories/a.txt', 'y'), error('Error: File /memories/a.txt already exists')],
    [cmd.view('/memories/a.txt'), ok("Here's the content of /memories/a.txt with line numbers:\n     1\tx")],
  ]);
  script(service, "creates a file's missing parents, and keeps them after the file is deleted", {}, [
    [cmd.create('/memories/a/b/c.txt', 'x'), ok('File created successfully at: /memories/a/b/c.txt')],
    [cmd.delete('/memories/a/b/c.txt'), ok('Successfully deleted /memories/a/b/c.txt')],
    [cmd.view('/memories'), listing('4.0K\t/memories\n4.0K\t/memories/a/\n4.0K\t/memories/a/b/')],
  ]);
  script(service, 'rejects a create at an existing path and below a file', { '/memories/dir/file': 'x' }, [
    [cmd.create('/memories/dir'), error('Error: File /memories/dir already exists')],
    [cmd.create('/memories'), error('Error: File /memories already exists')],
    [cmd.create('/memories/dir/file/child'), error('Error: /memories/dir/file is not a directory')],
    [cmd.create('/memories/dir/file/a/b/c'), error('Error: /memories/dir/file is not a directory')],
    [cmd.view('/memories'), listing('4.0K\t/memories\n4.0K\t/memories/dir/\n1B\t/memories/dir/file')],
  ]);
});

const editedResult = (snippet: string) =>
  ok(
    `The memory file has been edited. Here is the snippet showing the change (with line numbers):\n${snippet}`,
  );

describeService('str_replace', (service) => {
  script(
    service,
    'shows a snippet with two lines of context after str_replace',
    { '/memories/f': '1\n2\n3\n4\n5\n6\n7\n8\n9' },
    [
      [
        cmd.replace('/memories/f', '5', 'five'),
        editedResult('     3\t3\n     4\t4\n     5\tfive\n     6\t6\n     7\t7'),
      ],
      [cmd.replace('/memories/f', '1', 'one'), editedResult('     1\tone\n     2\t2\n     3\t3')],
      [cmd.replace('/memories/f', '9', 'nine'), editedResult('     7\t7\n     8\t8\n     9\tnine')],
      [
        cmd.replace('/memories/f', '3\n4', 'x\ny\nz'),
        editedResult('     1\tone\n     2\t2\n     3\tx\n     4\ty\n     5\tz\n     6\tfive\n     7\t6'),
      ],
      [
        cmd.replace('/memories/f', '\nx\ny\nz\n', '\n'),
        editedResult('     1\tone\n     2\t2\n     3\tfive\n     4\t6\n     5\t7'),
      ],
    ],
  );
  script(service, 'deletes old_str when new_str is omitted, null or empty', { '/memories/f': 'a b c d' }, [
    [cmd.replace('/memories/f', ' b'), editedResult('     1\ta c d')],
    [{ ...cmd.replace('/memories/f', ' c'), new_str: null }, editedResult('     1\ta d')],
    [cmd.replace('/memories/f', ' d', ''), editedResult('     1\ta')],
    [cmd.replace('/memories/f', 'a', ''), editedResult('     1\t')],
    [
      cmd.replace('/memories/f', 'a', 'b'),
      error('No replacement was performed, old_str `a` did not appear verbatim in /memories/f.'),
    ],
  ]);
  script(
    service,
    'treats $ and other special characters of str_replace literally',
    { '/memories/f': 'a.*b' },
    [
      [cmd.replace('/memories/f', '.*', "$&$1$$$`$'\\n"), editedResult("     1\ta$&$1$$$`$'\\nb")],
      [cmd.replace('/memories/f', '$&$1', '{old_str}'), editedResult("     1\ta{old_str}$$$`$'\\nb")],
    ],
  );
  script(
    service,
    'reports every line in which old_str occurs if it occurs several times',
    { '/memories/f': 'aa a\nb\na', '/memories/o': 'aaa', '/memories/m': 'x\ny\nx\ny\nx' },
    [
      [
        cmd.replace('/memories/f', 'a', 'z'),
        error(
          'No replacement was performed. Multiple occurrences of old_str `a` in lines: 1, 1, 1, 3. Please ensure it is unique',
        ),
      ],
      [cmd.replace('/memories/o', 'aa', 'z'), editedResult('     1\tza')],
      [
        cmd.replace('/memories/m', 'x\ny', 'z'),
        error(
          'No replacement was performed. Multiple occurrences of old_str `x\ny` in lines: 1, 3. Please ensure it is unique',
        ),
      ],
      [
        cmd.replace('/memories/m', '\n', ' '),
        error(
          'No replacement was performed. Multiple occurrences of old_str `\n` in lines: 1, 2, 3, 4. Please ensure it is unique',
        ),
      ],
    ],
  );
  script(
    service,
    'matches old_str verbatim: case, Unicode form, and CR matter',
    { '/memories/f': 'Café\r\nend' },
    [
      [
        cmd.replace('/memories/f', 'café', 'x'),
        error('No replacement was performed, old_str `café` did not appear verbatim in /memories/f.'),
      ],
      [
        cmd.replace('/memories/f', 'Cafe\u0301', 'x'),
        error('No replacement was performed, old_str `Cafe\u0301` did not appear verbatim in /memories/f.'),
      ],
      [
        cmd.replace('/memories/f', 'Café\nend', 'x'),
        error('No replacement was performed, old_str `Café\nend` did not appear verbatim in /memories/f.'),
      ],
      [cmd.replace('/memories/f', 'Café\r\n', ''), editedResult('     1\tend')],
    ],
  );
  script(
    service,
    'rejects a str_replace for a missing path, a directory, or an empty old_str',
    { '/memories/d/f': 'x' },
    [
      [
        cmd.replace('/memories/nope', 'a', 'b'),
        error('Error: The path /memories/nope does not exist. Please provide a valid path.'),
      ],
      [
        cmd.replace('/memories/d', 'a', 'b'),
        error('Error: The path /memories/d does not exist. Please provide a valid path.'),
      ],
      [
        cmd.replace('/memories', 'a', 'b'),
        error('Error: The path /memories does not exist. Please provide a valid path.'),
      ],
      [
        cmd.replace('/memories/d/f', '', 'b'),
        error('Error: Invalid `old_str` parameter: it must not be empty'),
      ],
      [
        cmd.replace('/memories/nope', '', 'b'),
        error('Error: Invalid `old_str` parameter: it must not be empty'),
      ],
    ],
  );
});

describeService('insert', (service) => {
  const file = (path: string, lines: string) =>
    ok(`Here's the content of ${path} with line numbers:\n${lines}`);
  const done = ok('The file /memories/f has been edited.');
  script(service, 'inserts lines at the start, between lines, and at the end', { '/memories/f': 'a\nb\n' }, [
    [cmd.insert('/memories/f', 0, 'top'), done],
    [cmd.insert('/memories/f', 2, 'mid\n'), done],
    [cmd.insert('/memories/f', 5, 'end\n\n'), done],
    [
      cmd.view('/memories/f'),
      file('/memories/f', '     1\ttop\n     2\ta\n     3\tmid\n     4\tb\n     5\t\n     6\tend\n     7\t'),
    ],
    [cmd.insert('/memories/f', 1, 'x\ny\r\n'), done],
    [cmd.insert('/memories/f', 0, ''), done],
    [
      cmd.view('/memories/f', [1, 5]),
      file('/memories/f', '     1\t\n     2\ttop\n     3\tx\n     4\ty\r\n     5\ta'),
    ],
  ]);
  script(service, 'inserts a line into an empty file', { '/memories/f': '' }, [
    [cmd.insert('/memories/f', 1, 'a'), done],
    [cmd.view('/memories/f'), file('/memories/f', '     1\t\n     2\ta')],
  ]);
  script(service, 'rejects an insert at a line outside the file', { '/memories/f': 'a\nb\n' }, [
    [
      cmd.insert('/memories/f', 4, 'x'),
      error(
        'Error: Invalid `insert_line` parameter: 4. It should be within the range of lines of the file: [0, 3]',
      ),
    ],
    [
      cmd.insert('/memories/f', -1, 'x'),
      error(
        'Error: Invalid `insert_line` parameter: -1. It should be within the range of lines of the file: [0, 3]',
      ),
    ],
  ]);
  script(service, 'rejects an insert into a missing path or a directory', { '/memories/d/f': 'x' }, [
    [cmd.insert('/memories/nope', 0, 'x'), error('Error: The path /memories/nope does not exist')],
    [cmd.insert('/memories/d', 0, 'x'), error('Error: The path /memories/d does not exist')],
    [cmd.insert('/memories', 0, 'x'), error('Error: The path /memories does not exist')],
  ]);
});

describeService('delete', (service) => {
  script(
    service,
    'deletes a directory with its contents but not siblings with the same prefix',
    {
      '/memories/a/b/c': '',
      '/memories/a/d': '',
      '/memories/a0': '',
      '/memories/a.txt': '',
      '/memories/a-/x': '',
    },
    [
      [cmd.delete('/memories/a'), ok('Successfully deleted /memories/a')],
      [cmd.delete('/memories/a'), error('Error: The path /memories/a does not exist')],
      [
        cmd.view('/memories/a/b/c'),
        error('The path /memories/a/b/c does not exist. Please provide a valid path.'),
      ],
      [
        cmd.view('/memories'),
        listing(
          '4.0K\t/memories\n4.0K\t/memories/a-/\n0B\t/memories/a-/x\n0B\t/memories/a.txt\n0B\t/memories/a0',
        ),
      ],
    ],
  );
  script(service, 'keeps a directory whose last file is deleted', { '/memories/a/f': '' }, [
    [cmd.delete('/memories/a/f'), ok('Successfully deleted /memories/a/f')],
    [cmd.view('/memories'), listing('4.0K\t/memories\n4.0K\t/memories/a/')],
  ]);
  script(service, 'rejects a delete of the root in any spelling', { '/memories/a': '' }, [
    [cmd.delete('/memories'), error('Error: Cannot delete the /memories directory itself')],
    [cmd.delete('/memories/'), error('Error: Cannot delete the /memories directory itself')],
    [cmd.delete('//memories/./'), error('Error: Cannot delete the /memories directory itself')],
    [cmd.delete('/memories/b'), error('Error: The path /memories/b does not exist')],
    [cmd.delete('/memories/a/b'), error('Error: The path /memories/a/b does not exist')],
    [cmd.view('/memories'), listing('4.0K\t/memories\n0B\t/memories/a')],
  ]);
});

describeService('rename', (service) => {
  script(service, 'moves a file and creates missing directories', { '/memories/a': 'x' }, [
    [cmd.rename('/memories/a', '/memories/b/c/d'), ok('Successfully renamed /memories/a to /memories/b/c/d')],
    [
      cmd.view('/memories/b'),
      ok(
        "Here're the files and directories up to 2 levels deep in /memories/b, excluding hidden items and node_modules:\n4.0K\t/memories/b\n4.0K\t/memories/b/c/\n1B\t/memories/b/c/d",
      ),
    ],
    [
      cmd.rename('/memories//b/c/d/', '/memories/./e'),
      ok('Successfully renamed /memories/b/c/d to /memories/e'),
    ],
    [
      cmd.view('/memories'),
      listing('4.0K\t/memories\n4.0K\t/memories/b/\n4.0K\t/memories/b/c/\n1B\t/memories/e'),
    ],
  ]);
  script(
    service,
    'moves a file below a directory whose name sorts differently in some locales',
    { '/memories/a': '1' },
    [
      [cmd.rename('/memories/a', '/memories/ä/a'), ok('Successfully renamed /memories/a to /memories/ä/a')],
      [
        cmd.rename('/memories/ä', '/memories/ä/b'),
        error('Error: Cannot rename /memories/ä to /memories/ä/b, which is inside it'),
      ],
    ],
  );
  script(
    service,
    'moves a directory with its contents but not siblings with the same prefix',
    { '/memories/a/b/c': '1', '/memories/a/d': '22', '/memories/a0': '', '/memories/a-': '' },
    [
      [cmd.rename('/memories/a', '/memories/n/a'), ok('Successfully renamed /memories/a to /memories/n/a')],
      [
        cmd.view('/memories/n'),
        ok(
          "Here're the files and directories up to 2 levels deep in /memories/n, excluding hidden items and node_modules:\n4.0K\t/memories/n\n4.0K\t/memories/n/a/\n4.0K\t/memories/n/a/b/\n2B\t/memories/n/a/d",
        ),
      ],
      [
        cmd.view('/memories/n/a/b/c'),
        ok("Here's the content of /memories/n/a/b/c with line numbers:\n     1\t1"),
      ],
      [
        cmd.view('/memories'),
        listing(
          '4.0K\t/memories\n0B\t/memories/a-\n0B\t/memories/a0\n4.0K\t/memories/n/\n4.0K\t/memories/n/a/',
        ),
      ],
    ],
  );
  script(
    service,
    "reports only a rename's first conflict, in the order of the checks",
    { '/memories/d/f': '', '/memories/g': '' },
    [
      [cmd.rename('/memories', '/memories/x'), error('Error: Cannot rename the /memories directory itself')],
      [cmd.rename('/memories/', '/memories'), error('Error: Cannot rename the /memories directory itself')],
      [cmd.rename('/memories/g', '/memories'), error('Error: The destination /memories already exists')],
      [cmd.rename('/memories/g', '/memories/g'), error('Error: The destination /memories/g already exists')],
      [cmd.rename('/memories/g', '/memories/d'), error('Error: The destination /memories/d already exists')],
      [
        cmd.rename('/memories/nope', '/memories/d'),
        error('Error: The destination /memories/d already exists'),
      ],
      [
        cmd.rename('/memories/nope', '/memories/nope'),
        error('Error: The path /memories/nope does not exist'),
      ],
      [
        cmd.rename('/memories/nope', '/memories/nope/x'),
        error('Error: The path /memories/nope does not exist'),
      ],
      [cmd.rename('/memories/nope', '/memories/g/x'), error('Error: The path /memories/nope does not exist')],
      [
        cmd.rename('/memories/d', '/memories/d/e'),
        error('Error: Cannot rename /memories/d to /memories/d/e, which is inside it'),
      ],
      [
        cmd.rename('/memories/d', '/memories/d/f/e'),
        error('Error: Cannot rename /memories/d to /memories/d/f/e, which is inside it'),
      ],
      [
        cmd.rename('/memories/g', '/memories/g/x'),
        error('Error: Cannot rename /memories/g to /memories/g/x, which is inside it'),
      ],
      [cmd.rename('/memories/d', '/memories/g/x/y'), error('Error: /memories/g is not a directory')],
      [
        cmd.view('/memories'),
        listing('4.0K\t/memories\n4.0K\t/memories/d/\n0B\t/memories/d/f\n0B\t/memories/g'),
      ],
    ],
  );
  const s = (n: number, c: string) => c.repeat(n);
  const deep = `/memories/a${'/d'.repeat(18)}`;
  script(
    service,
    'rejects a move that makes descendant paths too long or too deep',
    { [`/memories/s/${s(255, 'x')}/${s(255, 'y')}/${s(255, 'z')}`]: '', [`${deep}/f`]: '' },
    [
      [
        cmd.rename('/memories/s', `/memories/${s(247, 't')}`),
        error('Error: Path is too long: 1025 bytes (limit 1024)'),
      ],
      [
        cmd.rename('/memories/s', `/memories/${s(246, 't')}`),
        ok(`Successfully renamed /memories/s to /memories/${s(246, 't')}`),
      ],
      [
        cmd.rename('/memories/a', '/memories/new/a'),
        error('Error: Path is too long: 21 levels below /memories (limit 20)'),
      ],
      [
        cmd.view('/memories/new'),
        error('The path /memories/new does not exist. Please provide a valid path.'),
      ],
      [cmd.view(`${deep}/f`), ok(`Here's the content of ${deep}/f with line numbers:\n     1\t`)],
    ],
    { onlyAtRoot: 'the name of the mount counts' },
  );
});
