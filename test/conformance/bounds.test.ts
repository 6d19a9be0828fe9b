/** Long output is truncated, and overlong input is rejected before it is processed. */
import { expect, it } from 'vitest';
import { cmd, error, ok, script } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

const x = (length: number) => 'x'.repeat(length);
const HEADER = 'The memory file has been edited. Here is the snippet showing the change (with line numbers):';

describeService('an overlong input', (service) => {
  script(service, 'truncates a long old_str or command in an error', { '/memories/f': 'a' }, [
    [
      cmd.replace('/memories/f', x(4096), 'b'),
      error(`No replacement was performed, old_str \`${x(4096)}\` did not appear verbatim in /memories/f.`),
    ],
    [
      cmd.replace('/memories/f', x(5000), 'b'),
      error(
        `No replacement was performed, old_str \`${x(4096)}[… 904 more characters]\` did not appear verbatim in /memories/f.`,
      ),
    ],
    [cmd.create('/memories/g', `${x(5000)} ${x(5000)}`), ok('File created successfully at: /memories/g')],
    [
      cmd.replace('/memories/g', x(5000), 'b'),
      error(
        `No replacement was performed. Multiple occurrences of old_str \`${x(4096)}[… 904 more characters]\` in lines: 1, 1. Please ensure it is unique`,
      ),
    ],
    [
      { command: x(5000) },
      error(
        `Error: Unknown command: ${x(4096)}[… 904 more characters]. The commands are view, create, str_replace, insert, delete, rename`,
      ),
    ],
    [{ command: ['view'] }, error('Error: Invalid input for memory: `command` must be a string')],
    [{ command: {} }, error('Error: Invalid input for memory: `command` must be a string')],
  ]);
  script(
    service,
    'rejects a path that is longer than any spelling for a valid path',
    {},
    [
      [cmd.view(`/etc/${x(4091)}`), error(`Error: Path must start with /memories, got: /etc/${x(4091)}`)],
      [cmd.view(`/etc/${x(4092)}`), error('Error: Path is too long: 4097 bytes (limit 1024)')],
      [cmd.create(`/memories/../${x(5000)}`), error('Error: Path is too long: 5013 bytes (limit 1024)')],
      [
        cmd.rename('/memories/a', `/memories/${'\u{e0001}'.repeat(2000)}`),
        error('Error: Path is too long: 8010 bytes (limit 1024)'),
      ],
    ],
    { onlyAtRoot: 'the name of the mount counts' },
  );

  it.each([
    [
      'deep',
      `{"command":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
      'The body nests arrays and objects deeper than 32 levels, the limit of this service.',
    ],
    [
      'wide',
      `{"command":"view","path":"/memories",${Array.from({ length: 5000 }, (_, i) => `"k${i}":0`).join(',')}}`,
      'The body has more than 4096 fields and array items, the limit of this service.',
    ],
  ])('returns a problem for a body that is too %s', async (_title, body, detail) => {
    const answer = await service().execute(body, { tenant: freshTenant() });
    expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8');
    expect([answer.status, answer.body.code, answer.body.detail]).toStrictEqual([
      400,
      'json_too_complex',
      detail,
    ]);
  });
});

describeService(
  'str_replace with MAX_VIEW_CHARS',
  (service) => {
    script(
      service,
      'truncates a snippet between lines',
      { '/memories/f': `1\n2\n${x(60)}\n${x(60)}\n5\n6` },
      [
        [
          cmd.replace('/memories/f', '5', 'V'),
          ok(`${HEADER}\n     3\t${x(60)}\n     4\t${x(60)}\n     5\tV\n     6\t6`),
        ],
        [
          cmd.replace('/memories/f', 'V', `${x(30)}\n${x(30)}\n${x(60)}`),
          ok(
            `${HEADER}\n     3\t${x(60)}\n[Truncated: showing lines 3 to 3 of 3 to 8. Use view with view_range [4, 8] to see the rest.]`,
          ),
        ],
      ],
    );
    script(service, 'truncates a snippet inside an overlong line', { '/memories/f': `${x(1000)}\nend` }, [
      [
        cmd.replace('/memories/f', 'end', 'END'),
        ok(
          `${HEADER}\n     1\t${x(53)}\n[Truncated: showing line 1 of 1 to 2, cut after 53 of its 1000 characters. Use view with view_range [2, 2] to see the rest.]`,
        ),
      ],
    ]);
    script(service, 'truncates a snippet inside an overlong last line', { '/memories/f': x(1000) }, [
      [cmd.insert('/memories/f', 0, 'y'), ok('The file /memories/f has been edited.')],
      [
        cmd.replace('/memories/f', 'y\n', ''),
        ok(
          `${HEADER}\n     1\t${x(102)}\n[Truncated: showing line 1 of 1 to 1, cut after 102 of its 1000 characters.]`,
        ),
      ],
    ]);
    script(
      service,
      'truncates a list of occurrences and reports the truncation',
      {
        '/memories/f': `${'a\n'.repeat(54)}a`,
        '/memories/g': 'a\n'.repeat(500),
        '/memories/h': 'a'.repeat(500),
      },
      [
        [
          cmd.replace('/memories/f', 'a\na\na', 'b'),
          error(
            'No replacement was performed. Multiple occurrences of old_str `a\na\na` in lines: 1, 4, 7, 10, 13, 16, 19, 22, 25, 28, 31, 34, 37, 40, 43, 46, 49, 52. Please ensure it is unique',
          ),
        ],
        [
          cmd.replace('/memories/g', 'a', 'b'),
          error(
            `No replacement was performed. Multiple occurrences of old_str \`a\` in lines: ${Array.from({ length: 27 }, (_, i) => i + 1).join(', ')}. Please ensure it is unique\n[Truncated: showing the lines of the first 27 occurrences; there are more.]`,
          ),
        ],
        [
          cmd.replace('/memories/h', 'a', 'b'),
          error(
            `No replacement was performed. Multiple occurrences of old_str \`a\` in lines: ${Array(34).fill('1').join(', ')}. Please ensure it is unique\n[Truncated: showing the lines of the first 34 occurrences; there are more.]`,
          ),
        ],
      ],
    );
  },
  { MAX_VIEW_CHARS: '280' },
);

describeService(
  'str_replace without a character limit',
  (service) => {
    it('lists at most 100,000 occurrences of old_str', async () => {
      const tenant = freshTenant();
      const list = async (occurrences: number) => {
        const path = `/memories/${occurrences}`;
        await service().execute(cmd.create(path, '\n'.repeat(occurrences)), { tenant });
        return service().execute(cmd.replace(path, '\n', ''), { tenant });
      };
      const most = await list(100_000);
      expect(most.content.slice(-48)).toBe('99998, 99999, 100000. Please ensure it is unique');
      const more = await list(100_001);
      expect(more.is_error).toBe(true);
      expect(more.content.slice(-(48 + 80))).toBe(
        '99998, 99999, 100000. Please ensure it is unique\n[Truncated: showing the lines of the first 100000 occurrences; there are more.]',
      );
    });
  },
  { MAX_VIEW_CHARS: '0' },
);
