/**
 * Random sharing and changes to the tenants, compared with a model. The variable TEST_SEED repeats a run.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { moveTenantData } from '../../src/core/tenants/copy.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { listInvitations } from '../../src/features/sharing/invitations.ts';
import { endMismatchedShares, listShares } from '../../src/features/sharing/shares.ts';
import { assertInvariants } from '../support/invariants.ts';
import { createRandom, type Random } from '../support/random.ts';
import { createSharer, SHARING_ENV, type Sharer, type SharingResponse } from '../support/sharing.ts';
import { cmd } from '../support/step-table.ts';
import { describeServiceOnOwnDatabase, freshTenant, type Service } from '../support/test-service.ts';
import * as model from './sharing-model.ts';

const STEPS = 200;
const STEPS_IN_LONG_SET = 2000;
const RULES = { SHARING: 'on', SHARING_SAME_METADATA: 'customer' } as const;
/** With more names and files, they would rarely collide. */
const NAMES = ['team', 'notes', 'plans'];
const CUSTOMERS = ['acme', 'globex', '', undefined];
const FILES = ['a.md', 'b.md'];
const STATUS = { forbidden: 403, missing: 404, rejected: 409 };

interface Party {
  expected: model.ModelTenant;
  sharer: Sharer;
}

/** Applies random operations to a service and to the model, and expects the same results. */
class Run {
  readonly seen = new Map<string, number>();
  readonly #service: Service;
  readonly #random: Random;
  readonly #parties: Party[] = [];
  readonly #invitations: model.ModelInvitation[] = [];
  readonly #shares: model.ModelShare[] = [];
  #texts = 0;

  constructor(service: Service, random: Random) {
    this.#service = service;
    this.#random = random;
  }

  async start(): Promise<void> {
    for (let i = 0; i < 4; i++) {
      const sharer = await createSharer(this.#service);
      const expected = new model.ModelTenant(sharer.tenant);
      this.#parties.push({ sharer, expected });
      await this.#setCustomer(expected, 'acme');
    }
  }

  async step(): Promise<void> {
    const { sharer, expected } = this.#random.of(this.#parties);
    const steps = {
      invite: 4,
      accept: 10,
      acceptAgain: 2,
      revoke: 2,
      end: 4,
      read: 6,
      write: 6,
      writeOwn: 2,
      rename: 2,
      changeCustomer: 1,
      suspend: 1,
      reset: 3,
      replace: 1,
      endMismatched: 1,
    };
    const weighted = Object.entries(steps).flatMap(([step, weight]) => Array(weight).fill(step));
    switch (this.#random.of(weighted) as keyof typeof steps) {
      case 'invite':
        return this.#invite(sharer, expected);
      case 'accept':
        return this.#accept(sharer, expected, this.#someInvitation());
      case 'acceptAgain': {
        const share = this.#random.of([...expected.received.values()]);
        return this.#accept(sharer, expected, share?.invitation, share?.name);
      }
      case 'revoke':
        return this.#revoke(sharer, expected, this.#someInvitation());
      case 'end':
        return this.#end(sharer, expected, this.#someShare(expected));
      case 'read':
        return this.#read(sharer, expected);
      case 'write':
        return this.#write(sharer, expected);
      case 'writeOwn':
        return this.#writeOwn(sharer, expected);
      case 'rename':
        return this.#rename(sharer, expected);
      case 'changeCustomer':
        return this.#setCustomer(expected, this.#random.of(CUSTOMERS));
      case 'suspend':
        return this.#suspend(expected, true);
      case 'reset':
        return this.#reset();
      case 'replace':
        return this.#replace(sharer, expected);
      case 'endMismatched':
        await endMismatchedShares(this.#service.database, RULES);
        model.endMismatched(this.#tenants());
        return this.#forgetPolicies();
    }
  }

  /** Expects each tenant's lists to match the model. */
  async checkLists(): Promise<void> {
    const { database } = this.#service;
    for (const { expected } of this.#parties) {
      const { given, received } = await listShares(database, expected.id);
      expect({
        given: given.map(({ id, tenant, access }) => `${id} ${tenant} ${access}`).sort(),
        received: received
          .map(({ id, tenant, name, access, status }) => `${id} ${tenant} ${name} ${access} ${status}`)
          .sort(),
      }).toStrictEqual(model.describeShares(expected, this.#tenants()));
      const open = this.#invitations.filter(({ giver, isOpen }) => giver === expected && isOpen);
      const listed = (await listInvitations(database, expected.id)).map(({ id }) => id);
      expect(listed.sort()).toStrictEqual(open.map(({ id }) => id).sort());
    }
  }

  /** Expects the change feeds to have the received shares that began and ended, in order. */
  async checkEvents(): Promise<void> {
    for (const { sharer, expected } of this.#parties) {
      await this.#suspend(expected, false);
      const { body } = await sharer.call('GET', '/changes?type=share_created&type=share_ended&limit=1000');
      const events = body.events as { type: string; share: { id: string } }[];
      expect(events.map(({ type, share }) => `${type} ${share.id}`)).toStrictEqual(expected.events);
    }
  }

  async #invite(sharer: Sharer, giver: model.ModelTenant): Promise<void> {
    const access = this.#random.of<model.Access>(['read_only', 'propose', 'read_write', 'read_write']);
    const isReusable = this.#random.below(3) === 0;
    const { status, body } = await sharer.call('POST', '/invitations', { access, reusable: isReusable });
    this.#expectStatus('invite', status, giver.isSuspended ? 403 : 201);
    if (status !== 201) return;
    const { id, token } = body as { id: string; token: string };
    this.#invitations.push({ id, token, giver, access, isReusable, isOpen: true });
  }

  async #accept(
    sharer: Sharer,
    receiver: model.ModelTenant,
    invitation: model.ModelInvitation | undefined,
    name = this.#random.of(NAMES),
  ): Promise<void> {
    if (invitation === undefined) return;
    const expected = model.checkAcceptance(receiver, invitation, name);
    const { status, body } = await sharer.accept(invitation.token, name);
    if (typeof expected === 'string') return this.#expectStatus('accept', status, STATUS[expected]);
    this.#expectStatus(expected === undefined ? 'accept' : 'accept again', status, 201);
    const { id } = body as { id: string };
    if (expected !== undefined) return expect(id).toBe(expected.id);
    this.#shares.push(model.accept(receiver, invitation, name, id));
  }

  async #revoke(
    sharer: Sharer,
    tenant: model.ModelTenant,
    invitation: model.ModelInvitation | undefined,
  ): Promise<void> {
    if (invitation === undefined) return;
    const { status } = await sharer.call('DELETE', `/invitations/${invitation.id}`);
    const rejection = model.checkRevocation(tenant, invitation);
    this.#expectStatus('revoke', status, rejection === undefined ? 204 : STATUS[rejection]);
    if (rejection === undefined) invitation.isOpen = false;
  }

  async #end(sharer: Sharer, tenant: model.ModelTenant, share: model.ModelShare | undefined): Promise<void> {
    if (share === undefined) return;
    const expected = model.checkEnd(tenant, share);
    const { status } = await sharer.call('DELETE', `/shares/${share.id}`);
    const side = share.giver === tenant ? 'end by giver' : 'end by receiver';
    this.#expectStatus(side, status, expected === undefined ? 204 : STATUS[expected]);
    if (expected === undefined) model.end(share);
  }

  async #read(sharer: Sharer, tenant: model.ModelTenant): Promise<void> {
    if (tenant.isSuspended) return;
    const [name, file] = [this.#someName(tenant), this.#random.of(FILES)];
    const result = await sharer.run(cmd.view(`/memories/${name}/${file}`));
    const share = model.locate(tenant, name);
    const text = typeof share === 'string' ? undefined : share.giver.files.get(`/memories/${file}`);
    if (share === 'not available') this.#expectText('read', result, 'is not available');
    else this.#expectText('read', result, text === undefined ? 'does not exist' : `1\t${text}`);
  }

  async #write(sharer: Sharer, tenant: model.ModelTenant): Promise<void> {
    const name = this.#someName(tenant);
    const share = model.locate(tenant, name);
    if (tenant.isSuspended || typeof share === 'string' || share.invitation.access === 'propose') return;
    const path = `/memories/${this.#random.of(FILES)}`;
    const shown = path.replace('/memories', `/memories/${name}`);
    return this.#writeFile(sharer, path, share.giver, { shown, access: share.invitation.access });
  }

  async #writeOwn(sharer: Sharer, tenant: model.ModelTenant): Promise<void> {
    if (tenant.isSuspended) return;
    // A file with a directory's name rejects an acceptance under this name.
    const names = [...FILES, ...NAMES.filter((name) => !tenant.received.has(name))];
    return this.#writeFile(sharer, `/memories/${this.#random.of(names)}`, tenant);
  }

  /** Creates a file, or deletes the file that is there. */
  async #writeFile(
    sharer: Sharer,
    path: string,
    { files }: model.ModelTenant,
    { shown, access }: { shown: string; access: model.Access } = { shown: path, access: 'read_write' },
  ): Promise<void> {
    const text = `text ${this.#texts++}`;
    const isThere = files.has(path);
    const result = await sharer.run(isThere ? cmd.delete(shown) : cmd.create(shown, text));
    const expected = isThere ? 'Successfully deleted' : 'File created successfully';
    this.#expectText('write', result, access === 'read_only' ? 'is read-only' : expected);
    if (access === 'read_only') return;
    if (isThere) files.delete(path);
    else files.set(path, text);
  }

  async #rename({ tenant }: Sharer, expected: model.ModelTenant): Promise<void> {
    const to = freshTenant('renamed');
    await moveTenantData(this.#service.database, tenant, to);
    expected.id = to;
    await this.#recreate(expected, expected);
  }

  async #replace({ tenant }: Sharer, expected: model.ModelTenant): Promise<void> {
    await new Tenants(this.#service.database).delete(tenant);
    for (const invitation of this.#invitations) if (invitation.giver === expected) invitation.isOpen = false;
    const replacement = model.replace(expected);
    await this.#recreate(expected, replacement);
    await this.#setCustomer(replacement, 'acme');
  }

  /** Creates a key for a renamed or new tenant. Replicas cache the earlier key's tenant. */
  async #recreate(before: model.ModelTenant, expected: model.ModelTenant): Promise<void> {
    const sharer = await createSharer(this.#service, expected.id);
    const i = this.#parties.findIndex((each) => each.expected === before);
    this.#parties[i] = { sharer, expected };
    this.#forgetPolicies();
  }

  /** Lets all tenants share again, so that later steps succeed. */
  async #reset(): Promise<void> {
    for (const tenant of this.#tenants()) {
      await this.#suspend(tenant, false);
      await this.#setCustomer(tenant, 'acme');
    }
  }

  async #suspend(tenant: model.ModelTenant, isSuspended: boolean): Promise<void> {
    await new Tenants(this.#service.database).suspend(tenant.id, isSuspended);
    tenant.isSuspended = isSuspended;
    this.#forgetPolicies();
  }

  async #setCustomer(tenant: model.ModelTenant, customer: string | undefined): Promise<void> {
    await this.#service.query('UPDATE tenants SET metadata = $2::text::jsonb WHERE id = $1', [
      tenant.id,
      JSON.stringify({ customer }),
    ]);
    tenant.customer = customer;
  }

  /** Changes outside the service's process reach it later. */
  #forgetPolicies(): void {
    for (const { expected } of this.#parties) this.#service.app.services.policies.forget(expected.id);
  }

  /** Returns an invitation that is probably open. */
  #someInvitation(): model.ModelInvitation | undefined {
    const open = this.#invitations.filter(({ isOpen }) => isOpen);
    return this.#random.of(this.#random.below(4) === 0 ? this.#invitations.slice(-12) : open);
  }

  /** Returns a share that the tenant probably can end. */
  #someShare(tenant: model.ModelTenant): model.ModelShare | undefined {
    const { given, received } = model.listShares(tenant, this.#tenants());
    const shares = [...given, ...received];
    return this.#random.of(
      shares.length === 0 || this.#random.below(4) === 0 ? this.#shares.slice(-8) : shares,
    );
  }

  /** Returns the name for a directory that the tenant probably received. */
  #someName({ received }: model.ModelTenant): string {
    const names = [...received.keys()];
    return this.#random.of(names.length === 0 || this.#random.below(4) === 0 ? NAMES : names);
  }

  #tenants(): model.ModelTenant[] {
    return this.#parties.map(({ expected }) => expected);
  }

  #expectStatus(step: string, status: SharingResponse['status'], expected: number): void {
    expect([step, status]).toStrictEqual([step, expected]);
    this.#count(`${step}: ${status}`);
  }

  #expectText(step: string, result: string, expected: string): void {
    expect(`${step}: ${result}`).toContain(expected);
    this.#count(`${step}: ${expected.replace(/^1\t.*/, 'text')}`);
  }

  #count(outcome: string): void {
    this.seen.set(outcome, (this.seen.get(outcome) ?? 0) + 1);
  }
}

describeServiceOnOwnDatabase(
  'random shares',
  (service, kind) => {
    const isLong = process.env.TEST_SET === 'long' && kind === 'postgres';

    it('compares lists, files, and events with a model after each step', { tags: ['random'] }, async () => {
      const seed = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 1e9));
      const run = new Run(service(), createRandom(seed));
      try {
        await run.start();
        for (let i = 0; i < (isLong ? STEPS_IN_LONG_SET : STEPS); i++) {
          await run.step();
          await run.checkLists();
        }
        await run.checkEvents();
        await assertInvariants(service());
      } catch (error) {
        throw new Error(`seed ${seed}`, { cause: error });
      }
      if (isLong) expect([...run.seen.keys()]).toEqual(expect.arrayContaining(OUTCOMES));
    });
  },
  { ...SHARING_ENV, SHARING_SAME_METADATA: 'customer', AUTH_FAILURES_PER_MINUTE: '0' },
);

/** Outcomes that each long run reaches. */
const OUTCOMES = [
  'accept again: 201',
  'accept: 201',
  'accept: 403',
  'accept: 404',
  'accept: 409',
  'end by giver: 204',
  'end by receiver: 204',
  'end by receiver: 404',
  'invite: 201',
  'invite: 403',
  'read: does not exist',
  'read: is not available',
  'read: text',
  'revoke: 204',
  'revoke: 404',
  'write: File created successfully',
  'write: Successfully deleted',
  'write: is read-only',
];
