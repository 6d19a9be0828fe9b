/** @module-tag long-on-pglite */
import { expect, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { assertInvariants } from '../support/invariants.ts';
import { cmd, error, ok, script } from '../support/step-table.ts';
import { describeService, describeServiceOnOwnDatabase, freshTenant } from '../support/test-service.ts';

// Assembled at run time, so that secret scanners ignore this file.
const AWS = `AKIA${'Q7RZ2XKNW4MHT5VB'}`;
const CARD = `4111 1111 ${'1111 1111'}`;

describeServiceOnOwnDatabase(
  'SECRETS=mask',
  (service) => {
    const NOTICE = '[1 secret was masked before storing: aws_access_key]';
    script(service, 'masks secrets in create, str_replace, and insert and reports it in the last line', {}, [
      [
        cmd.create('/memories/f', `key ${AWS}\nend`),
        ok(`File created successfully at: /memories/f\n${NOTICE}`),
      ],
      [
        cmd.view('/memories/f'),
        ok(
          "Here's the content of /memories/f with line numbers:\n     1\tkey [REDACTED:aws_access_key]\n     2\tend",
        ),
      ],
      [
        cmd.replace('/memories/f', 'end', `2nd ${AWS}\nend`),
        ok(
          `The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tkey [REDACTED:aws_access_key]\n     2\t2nd [REDACTED:aws_access_key]\n     3\tend\n${NOTICE}`,
        ),
      ],
      [
        cmd.insert('/memories/f', 0, `card ${CARD}`),
        ok('The file /memories/f has been edited.\n[1 secret was masked before storing: payment_card]'),
      ],
      [
        cmd.create('/memories/g', `${AWS}\n${CARD}\n`),
        ok(
          'File created successfully at: /memories/g\n[2 secrets were masked before storing: aws_access_key, payment_card]',
        ),
      ],
      [cmd.create('/memories/h', 'nothing to hide'), ok('File created successfully at: /memories/h')],
    ]);
    script(
      service,
      'masks a secret that an edit completes',
      { '/memories/f': `${AWS.slice(0, 10)}-${AWS.slice(10)}` },
      [
        [
          cmd.replace('/memories/f', '-', ''),
          ok(
            `The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\t[REDACTED:aws_access_key]\n${NOTICE}`,
          ),
        ],
      ],
    );
    script(service, 'masks secrets that the result of a write quotes', { '/memories/f': 'a\nb' }, [
      [
        cmd.replace('/memories/f', `key ${AWS}`, 'x'),
        error(
          'No replacement was performed, old_str `key [REDACTED:aws_access_key]` did not appear verbatim in /memories/f.',
        ),
      ],
      [
        cmd.delete(`/memories/${AWS}`),
        error('Error: The path /memories/[REDACTED:aws_access_key] does not exist'),
      ],
    ]);
    const inPath = error(
      'Error: Nothing was written: the path contains what looks like a secret (aws_access_key). Leave it out and try again.',
    );
    script(service, 'rejects paths that contain a secret', { '/memories/f': 'a' }, [
      [cmd.create(`/memories/${AWS}.txt`, 'x'), inPath],
      [cmd.rename('/memories/f', `/memories/${AWS}/f`), inPath],
      [
        cmd.view('/memories'),
        ok(
          "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n4.0K\t/memories\n1B\t/memories/f",
        ),
      ],
    ]);
    it('stores no secret in the results kept for idempotency keys', async () => {
      const tenant = freshTenant();
      const send = (input: object, key: string) =>
        service().execute(input, { tenant, headers: { 'idempotency-key': key } });
      await send(cmd.create('/memories/f', 'old\nline'), 'k1');
      await service().query(
        `UPDATE entries SET content = $2::text || E'\\nline', path = '/memories/' || $3::text WHERE tenant_id = $1::text AND kind = 'file'`,
        [tenant, AWS, AWS],
      );
      const path = `/memories/${AWS}`;
      const snippet =
        'The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\t[REDACTED:aws_access_key]\n     2\tLINE';
      for (const replayed of [undefined, 'true']) {
        const answer = await send(cmd.replace(path, 'line', 'LINE'), 'k2');
        expect([answer.content, answer.headers['idempotency-replayed']]).toStrictEqual([snippet, replayed]);
      }
      await send(cmd.replace(path, `no ${AWS}`, 'x'), 'k3');
      await send(cmd.insert(path, 0, 'x'), 'k4');
      await send(cmd.rename(path, '/memories/g'), 'k5');
      const rows = await service().query(
        `SELECT count(*)::int AS n, count(*) FILTER (WHERE content LIKE '%' || $2::text || '%')::int AS leaks
         FROM idempotency_keys WHERE tenant_id = $1::text`,
        [tenant, AWS],
      );
      expect(rows).toStrictEqual([{ n: 5, leaks: 0 }]);
    });
    it('does not mask text that an edit leaves unchanged', async () => {
      const tenant = freshTenant();
      const tenants = new Tenants(service().database);
      await tenants.create(tenant);
      await service().execute(cmd.create('/memories/f', 'old OLD\nline'), { tenant });
      await service().query(
        `UPDATE entries SET content = $2::text || E'\\nline' WHERE tenant_id = $1::text AND kind = 'file'`,
        [tenant, AWS],
      );
      const edited = await service().execute(cmd.insert('/memories/f', 2, 'more'), { tenant });
      expect(edited.content).toBe('The file /memories/f has been edited.');
    });
    it('stores no secret in the table `entries`', async () => {
      const rows = await service().query(
        `SELECT count(*)::int AS n FROM entries WHERE content LIKE '%' || $1::text || '%'`,
        [CARD],
      );
      expect(rows).toStrictEqual([{ n: 0 }]);
    });
  },
  { SECRETS: 'mask' },
);

describeService(
  'SECRETS=reject',
  (service) => {
    const rejection = (kinds: string) =>
      error(
        `Error: Nothing was written: the text contains what looks like a secret (${kinds}). Leave it out and try again.`,
      );
    script(
      service,
      'writes no file with a secret, and names the kind of secret',
      { '/memories/f': `a ${AWS.slice(0, 10)}-${AWS.slice(10)}` },
      [
        [cmd.create('/memories/g', `x ${AWS} ${CARD}`), rejection('aws_access_key, payment_card')],
        [cmd.view('/memories/g'), error('The path /memories/g does not exist. Please provide a valid path.')],
        [cmd.replace('/memories/f', 'a', AWS), rejection('aws_access_key')],
        [cmd.replace('/memories/f', '-', ''), rejection('aws_access_key')],
        [cmd.insert('/memories/f', 0, CARD), rejection('payment_card')],
        [
          cmd.view('/memories/f'),
          ok(
            `Here's the content of /memories/f with line numbers:\n     1\ta ${AWS.slice(0, 10)}-${AWS.slice(10)}`,
          ),
        ],
      ],
    );
    it("stores a secret if the tenant's setting is `store`, even if the service has SECRETS=reject", async () => {
      const tenant = freshTenant();
      const tenants = new Tenants(service().database);
      await tenants.create(tenant);
      await tenants.set(tenant, { secrets: 'store' });
      const made = await service().execute(cmd.create('/memories/f', AWS), { tenant });
      expect(made.content).toBe('File created successfully at: /memories/f');
      await assertInvariants(service());
    });
  },
  { SECRETS: 'reject' },
);
