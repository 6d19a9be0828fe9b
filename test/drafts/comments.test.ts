/**
 * Comments by reviewers on drafts.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { moveTenantData } from '../../src/core/tenants/copy.ts';
import { makeKey, problem, useAdmin } from '../support/admin.ts';
import { run } from '../support/restore-run.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

const UNKNOWN = '0b9ee7d4-2f6e-4e5f-8f5e-0c8f6a1d9b52';

describeService('comments on drafts', (service) => {
  const admin = useAdmin(service);
  async function make() {
    const tenant = freshTenant('commented');
    await run(service(), tenant, cmd.create('/memories/a', '1\n'), cmd.replace('/memories/a', '1', '2'));
    const { body } = await admin().call('POST', `/tenants/${tenant}/drafts`, { body: { title: 'tidy' } });
    return { tenant, draft: String(body.id), path: `/tenants/${tenant}/drafts/${body.id}/comments` };
  }
  const add = (path: string, text: string, more: object = {}) =>
    admin().call('POST', path, { body: { text, ...more } });
  const texts = async (path: string) =>
    ((await admin().call('GET', path)).body.comments as { text: string }[]).map(({ text }) => text);

  it('adds, lists, and deletes comments on a draft, and keeps comments when the tenant is renamed', async () => {
    const { tenant, draft, path } = await make();
    const { versions } = (await admin().call('GET', `/tenants/${tenant}/versions`)).body;
    const file = (versions as { memory_id: string }[])[0]?.memory_id;
    const first = await add(path, 'Why?\nNo.', { memory_id: file });
    expect([first.status, first.body]).toStrictEqual([
      201,
      {
        id: expect.any(String),
        author: expect.objectContaining({ type: 'admin_key', id: admin().key.id }),
        created_at: expect.stringMatching(/^20\d\d-.*Z$/),
        memory_id: file,
        line: null,
        reviewer: null,
        text: 'Why?\nNo.',
        resolved: null,
      },
    ]);
    const second = await add(path, 'second');
    expect(second.body.memory_id).toBeNull();
    expect((await admin().call('GET', path)).body).toStrictEqual({ comments: [first.body, second.body] });
    expect((await admin().call('DELETE', `${path}/${first.body.id}`)).body).toStrictEqual({
      id: first.body.id,
    });
    expect(problem(await admin().call('DELETE', `${path}/${first.body.id}`))).toStrictEqual([
      404,
      'not_found',
      `The draft ${draft} has no comment ${first.body.id}.`,
    ]);
    await moveTenantData(service().database, tenant, `${tenant}-renamed`);
    expect(await texts(path.replace(tenant, `${tenant}-renamed`))).toStrictEqual(['second']);
  });

  it('stores the line of a comment on a file, and ignores a line without a file', async () => {
    const { tenant, path } = await make();
    const { versions } = (await admin().call('GET', `/tenants/${tenant}/versions`)).body;
    const memory_id = (versions as { memory_id: string }[])[0]?.memory_id;
    expect((await add(path, 'Why 2?', { memory_id, line: 1 })).body).toMatchObject({ memory_id, line: 1 });
    expect((await add(path, 'No file', { line: 1 })).body).toMatchObject({ memory_id: null, line: null });
    expect((await add(path, 'Line 0', { memory_id, line: 0 })).status).toBe(400);
    expect(await texts(path)).toStrictEqual(['Why 2?', 'No file']);
  });

  it('resolves comments and opens them again, and shows the latest open request for a review', async () => {
    const { draft, path } = await make();
    const { key: adminKey } = admin();
    const by = expect.objectContaining({ type: 'admin_key', id: adminKey.id });
    const readDraft = async () => {
      const { comments, open_comments, review_request } = (
        await admin().call('GET', path.replace(/\/comments$/, ''))
      ).body;
      return [comments, open_comments, review_request];
    };
    expect(await readDraft()).toStrictEqual([0, 0, null]);
    await add(path, 'Why?');
    const asked = (await add(path, 'Please look.', { reviewer: 'anna' })).body;
    const later = (await add(path, 'You, too.', { reviewer: 'bob' })).body;
    const request = (comment: typeof asked) => ({ reviewer: comment.reviewer, by, at: comment.created_at });
    expect(await readDraft()).toStrictEqual([3, 3, request(later)]);
    const resolve = (id: unknown, resolved: unknown) =>
      admin().call('PATCH', `${path}/${id}`, { body: { resolved } });
    expect((await resolve(later.id, true)).body).toStrictEqual({
      ...later,
      resolved: { by, at: expect.stringMatching(/^20\d\d-.*Z$/) },
    });
    expect(await readDraft()).toStrictEqual([3, 2, request(asked)]);
    // The order is kept.
    expect(await texts(path)).toStrictEqual(['Why?', 'Please look.', 'You, too.']);
    expect((await resolve(later.id, false)).body).toStrictEqual(later);
    expect(await readDraft()).toStrictEqual([3, 3, request(later)]);
    expect(problem(await resolve(UNKNOWN, true))).toStrictEqual([
      404,
      'not_found',
      `The draft ${draft} has no comment ${UNKNOWN}.`,
    ]);
    expect((await resolve(asked.id, 'yes')).status).toBe(400);
    expect((await add(path, 'Whose?', { reviewer: '' })).status).toBe(400);
  });

  it('rejects a comment on a file that is not in the draft', async () => {
    const { draft, path } = await make();
    expect(problem(await add(path, 'Why?', { memory_id: UNKNOWN }))).toStrictEqual([
      404,
      'not_found',
      `The draft ${draft} has no file with the ID ${UNKNOWN}.`,
    ]);
    expect(await texts(path)).toStrictEqual([]);
  });

  it('lets a comment be deleted only by its author or by a key with full access', async () => {
    const { tenant, path } = await make();
    const limited = { isAdmin: true, access: 'operate' as const, onlyTenants: [tenant] };
    const [anna, bob] = [await makeKey(service(), limited), await makeKey(service(), limited)];
    const addCommentByAnna = async () => {
      const { body } = await admin().call('POST', path, { body: { text: 'by Anna' }, key: anna.key });
      return `${path}/${body.id}`;
    };
    const comment = await addCommentByAnna();
    const rejected = await admin().call('DELETE', comment, { key: bob.key });
    expect([rejected.status, rejected.body.code]).toStrictEqual([403, 'comment_of_another']);
    expect(await texts(path)).toStrictEqual(['by Anna']);
    expect((await admin().call('DELETE', comment, { key: anna.key })).status).toBe(200);
    expect((await admin().call('DELETE', await addCommentByAnna())).status).toBe(200);
  });

  it('limits the number and length of comments, and deletes them when the draft is closed', async () => {
    const { tenant, draft, path } = await make();
    expect((await add(path, 'x'.repeat(2000))).status).toBe(201);
    expect((await add(path, 'x'.repeat(2001))).status).toBe(400);
    expect((await add(path, '')).status).toBe(400);
    for (let i = 1; i < 100; i++) expect((await add(path, `${i}`)).status).toBe(201);
    expect(problem(await add(path, 'one more'))).toStrictEqual([
      409,
      'rejected',
      `The draft ${draft} already has 100 comments, its maximum. Delete one first.`,
    ]);
    await admin().call('POST', `/tenants/${tenant}/drafts/${draft}/close`);
    expect(await texts(path)).toStrictEqual([]);
    expect(problem(await add(path, 'late'))).toStrictEqual([
      409,
      'rejected',
      `The draft ${draft} is closed: it was rejected.`,
    ]);
    expect((await admin().call('GET', path.replace(/.{8}\/comments/, '00000000/comments'))).status).toBe(404);
  });

  it("deletes a draft's comments when a version in the memory is redacted", async () => {
    const { tenant, path } = await make();
    await add(path, 'It was 1.');
    const { versions } = (await admin().call('GET', `/tenants/${tenant}/versions`)).body;
    const [, oldest] = versions as { id: string }[];
    const redacted = await admin().call('POST', `/tenants/${tenant}/versions/${oldest?.id}/redact`);
    expect(redacted.status).toBe(200);
    expect(await texts(path)).toStrictEqual([]);
  });
});
