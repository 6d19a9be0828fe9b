import { expect, it } from 'vitest';
import { cmd, ok, script } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

/** Examples in the memory tool's documentation, compared byte for byte. */
describeService('a documented example', (service) => {
  it('lists the directory exactly as the customer-service example documents', async () => {
    const tenant = freshTenant();
    await service().execute(cmd.create('/memories/customer_service_guidelines.xml', 'x'.repeat(1536)), {
      tenant,
    });
    await service().execute(cmd.create('/memories/refund_policies.xml', 'x'.repeat(2048)), { tenant });
    const answer = await service().execute(
      {
        type: 'tool_use',
        id: 'toolu_01C4D5E6F7G8H9I0J1K2L3M4',
        name: 'memory',
        input: { command: 'view', path: '/memories' },
      },
      { tenant },
    );
    expect(answer.body).toStrictEqual({
      type: 'tool_result',
      tool_use_id: 'toolu_01C4D5E6F7G8H9I0J1K2L3M4',
      content:
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n4.0K\t/memories\n1.5K\t/memories/customer_service_guidelines.xml\n2.0K\t/memories/refund_policies.xml",
      is_error: false,
    });
  });

  it('shows the file exactly as the customer-service example documents', async () => {
    const tenant = freshTenant();
    const text =
      '<guidelines>\n<addressing_customers>\n- Always address customers by their first name\n- Use empathetic language\n...';
    await service().execute(cmd.create('/memories/customer_service_guidelines.xml', text), { tenant });
    const answer = await service().execute(
      {
        type: 'tool_use',
        id: 'toolu_01D5E6F7G8H9I0J1K2L3M4N5',
        name: 'memory',
        input: { command: 'view', path: '/memories/customer_service_guidelines.xml' },
      },
      { tenant },
    );
    expect(answer.body).toStrictEqual({
      type: 'tool_result',
      tool_use_id: 'toolu_01D5E6F7G8H9I0J1K2L3M4N5',
      content:
        "Here's the content of /memories/customer_service_guidelines.xml with line numbers:\n     1\t<guidelines>\n     2\t<addressing_customers>\n     3\t- Always address customers by their first name\n     4\t- Use empathetic language\n     5\t...",
      is_error: false,
    });
  });

  script(
    service,
    'aligns line numbers 1, 2, 10 and 100',
    {
      '/memories/notes.txt': Array.from({ length: 100 }, (_, i) =>
        i === 0
          ? 'Hello World'
          : i === 1
            ? 'This is line two'
            : i === 9
              ? 'Line ten'
              : i === 99
                ? 'Line one hundred'
                : '',
      ).join('\n'),
    },
    [
      [
        cmd.view('/memories/notes.txt', [1, 2]),
        ok(
          "Here's the content of /memories/notes.txt with line numbers:\n     1\tHello World\n     2\tThis is line two",
        ),
      ],
      [
        cmd.view('/memories/notes.txt', [10, 10]),
        ok("Here's the content of /memories/notes.txt with line numbers:\n    10\tLine ten"),
      ],
      [
        cmd.view('/memories/notes.txt', [100, 100]),
        ok("Here's the content of /memories/notes.txt with line numbers:\n   100\tLine one hundred"),
      ],
    ],
  );

  script(service, 'runs the documented examples of each command in sequence', {}, [
    [
      {
        command: 'create',
        path: '/memories/notes.txt',
        file_text: 'Meeting notes:\n- Discussed project timeline\n- Next steps defined\n',
      },
      ok('File created successfully at: /memories/notes.txt'),
    ],
    [
      { command: 'create', path: '/memories/preferences.txt', file_text: 'Favorite color: blue' },
      ok('File created successfully at: /memories/preferences.txt'),
    ],
    [
      {
        command: 'str_replace',
        path: '/memories/preferences.txt',
        old_str: 'Favorite color: blue',
        new_str: 'Favorite color: green',
      },
      ok(
        'The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tFavorite color: green',
      ),
    ],
    [
      { command: 'create', path: '/memories/todo.txt', file_text: '- One\n- Two\n- Three\n' },
      ok('File created successfully at: /memories/todo.txt'),
    ],
    [
      {
        command: 'insert',
        path: '/memories/todo.txt',
        insert_line: 2,
        insert_text: '- Review memory tool documentation\n',
      },
      ok('The file /memories/todo.txt has been edited.'),
    ],
    [
      { command: 'view', path: '/memories/todo.txt' },
      ok(
        "Here's the content of /memories/todo.txt with line numbers:\n     1\t- One\n     2\t- Two\n     3\t- Review memory tool documentation\n     4\t- Three\n     5\t",
      ),
    ],
    [
      { command: 'create', path: '/memories/old_file.txt', file_text: '' },
      ok('File created successfully at: /memories/old_file.txt'),
    ],
    [
      { command: 'delete', path: '/memories/old_file.txt' },
      ok('Successfully deleted /memories/old_file.txt'),
    ],
    [
      { command: 'create', path: '/memories/draft.txt', file_text: 'x' },
      ok('File created successfully at: /memories/draft.txt'),
    ],
    [
      { command: 'rename', old_path: '/memories/draft.txt', new_path: '/memories/final.txt' },
      ok('Successfully renamed /memories/draft.txt to /memories/final.txt'),
    ],
  ]);
});
