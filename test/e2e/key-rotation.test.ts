// Master keys and data keys are rotated while people call, sign in and paste keys on two nodes: nobody notices (T22).
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../store/eventually.ts';
import { textOf } from '../support/agents/agent.ts';
import type { TestApp } from '../support/app.ts';
import { Scene, withKeys } from '../support/scene.ts';
import { signIn, signInWorld } from '../support/sign-in/sign-in-scene.ts';
import { newMasterKey, turningKeys } from '../support/turning-keys.ts';
import { sealedThings } from './a-sealed-world.ts';

const [OLD, NEW] = [newMasterKey(), newMasterKey()];
/** Each node reads its own file. */
const [keysOfA, keysOfB] = [turningKeys(OLD), turningKeys(OLD)];
const scene = new Scene({ masterKeys: keysOfA });
beforeAll(() => scene.begin());
afterAll(() => scene.end());

interface MasterKey {
  readonly id: string;
  readonly isCurrent: boolean;
  readonly isKnown: boolean;
  readonly wraps: number;
}
interface DataKey {
  readonly id: string;
  readonly isCurrent: boolean;
  readonly seals: number;
}

const masterKeysOf = async (app: TestApp): Promise<readonly MasterKey[]> =>
  (await app.adminOk('GET', '/vault'))['masterKeys'] as readonly MasterKey[];
const dataKeysOf = async (app: TestApp, tenant: string): Promise<readonly DataKey[]> =>
  (await app.adminOk('GET', `/tenants/${tenant}/data-keys`))['items'] as readonly DataKey[];

describe('rotation while serving', () => {
  it('fails no call, loses nothing, reconnects nobody, and leaves nothing under the old keys', async () => {
    const { app } = scene;
    const node = await scene.node({ masterKeys: keysOfB });
    const world = await signInWorld(scene, 'modern', { as: { registeredMethod: 'client_secret_basic' } });
    const { tenant } = world;
    const people = Array.from({ length: 40 }, (_, n) => `person-${n}`);
    const keyed = await scene.keyed('legacy', { keys: [...people, 'idle'].map((who) => [`key-${who}`, who] as const) });
    await tenant.put('keys', withKeys(keyed, { headers: { 'x-team': 'core' } }));
    for (const person of [...people, 'idle']) await tenant.setSecret('keys', person, `key-${person}`);
    await signIn(world, await tenant.raw('rawModern', 'idle'), 'idle');
    const idle = await tenant.raw('rawModern', 'idle');
    const first = textOf(await idle.callTool('keys__whoami'));
    expect(first).toContain('who=idle;session=');
    const versions = `SELECT server_id, owner, version, details, updated_at FROM credentials
      WHERE tenant_id = '${tenant.id}' AND owner = 'p:idle' ORDER BY server_id`;
    const revisions = `SELECT name, revision, updated_at FROM servers WHERE tenant_id = '${tenant.id}' ORDER BY name`;
    const before = [await app.sql(versions), await app.sql(revisions)];
    const notices = await listen(app);

    // People are busy, on both nodes.
    const done = { calls: 0, writes: 0, signIns: 0 };
    let isOver = false;
    const sides = [tenant, scene.side(tenant.id, tenant.key, node)];
    const busy = async (work: (turn: number) => Promise<void>): Promise<void> => {
      for (let turn = 0; !isOver && turn < 10_000; turn += 1) await work(turn);
    };
    const callers = sides.map(async (side, at) => {
      const agents = await Promise.all(people.slice(at * 5, at * 5 + 5).map((who) => side.raw('rawModern', who)));
      await busy(async (turn) => {
        const index = turn % agents.length;
        const answer = textOf((await agents[index]?.callTool('keys__whoami')) ?? {});
        expect(answer).toContain(`who=${people[at * 5 + index] ?? ''};`);
        done.calls += 1;
      });
    });
    const writers = sides.map((side, at) =>
      busy(async (turn) => {
        const person = people[10 + at * 15 + (turn % 15)] ?? '';
        await side.setSecret('keys', person, `key-${person}`);
        done.writes += 1;
      }),
    );
    const newcomers = busy(async (turn) => {
      await signIn(world, await tenant.raw('rawModern', `new-${turn}`), `new-${turn}`);
      done.signIns += 1;
    });
    const everybody = Promise.all([...callers, ...writers, newcomers]);
    const rotations = async (): Promise<void> => {
      await eventually('people are at work', () => done.calls > 20 && done.writes > 5 && done.signIns > 0, 20_000);
      for (const side of [app, node]) {
        // Two who ask at once make one key, or one each after the other.
        await Promise.all([app, side].map((one) => one.adminOk('POST', `/tenants/${tenant.id}/rotate-key`)));
        await eventually(
          'every row is under the new data key',
          async () => (await dataKeysOf(side, tenant.id)).every(({ isCurrent, seals }) => isCurrent === seals > 0),
          20_000,
        );
      }
      // First every node learns the new key, then it is the first everywhere.
      for (const keys of [keysOfA, keysOfB]) keys.turn(OLD, NEW);
      for (const keys of [keysOfA, keysOfB]) keys.turn(NEW, OLD);
      const [oldId, newId] = [await turningKeys(OLD).currentId(), await turningKeys(NEW).currentId()];
      await eventually(
        'nothing hangs on the old master key',
        async () => {
          const keys = await masterKeysOf(node);
          return (
            keys.some(({ id, wraps }) => id === newId && wraps > 0) &&
            keys.every(({ id, wraps }) => id !== oldId || wraps === 0)
          );
        },
        20_000,
      );
      for (const keys of [keysOfA, keysOfB]) keys.turn(NEW);
      const calls = done.calls;
      await eventually('calls go on', () => done.calls > calls + 20, 20_000);
    };
    await Promise.race([rotations(), everybody]).finally(() => {
      isOver = true;
    });
    await everybody;

    // Nothing of the idle person changed, nobody was told anything about them, and their connection is the same.
    expect([await app.sql(versions), await app.sql(revisions)]).toEqual(before);
    expect(notices.heard.filter((text) => text.includes('p:idle') || text.includes('"servers"'))).toEqual([]);
    await notices.close();
    expect(textOf(await idle.callTool('keys__whoami'))).toBe(first);
    // Everything opens with the new master key alone, on a node that remembers nothing.
    const current = (await dataKeysOf(app, tenant.id)).find(({ isCurrent }) => isCurrent)?.id;
    const things = await sealedThings(app);
    expect(things.length).toBeGreaterThan(people.length + 2 + done.signIns);
    for (const { what, sealed } of things)
      expect([what, sealed[0], sealed.subarray(1, 17).toString('hex')]).toEqual([what, 2, current]);
    const fresh = await scene.node({ masterKeys: turningKeys(NEW) });
    const side = scene.side(tenant.id, tenant.key, fresh);
    for (const person of ['idle', 'person-0', 'person-39']) {
      const agent = await side.raw('rawModern', person);
      expect(textOf(await agent.callTool('keys__whoami'))).toContain(`who=${person};`);
    }
    expect(textOf(await (await side.raw('rawModern', 'idle')).callTool('notes__whoami'))).toContain('idle');
    expect(keyed.seen.every(({ headers }) => headers['x-team'] === 'core')).toBe(true);
    expect(done.signIns).toBeGreaterThan(0);
  }, 120_000);
});

async function listen(app: TestApp): Promise<{ readonly heard: readonly string[]; close(): Promise<void> }> {
  const client = new pg.Client({ connectionString: app.databaseUrl });
  const heard: string[] = [];
  // Cut off when the database goes, should the test fail before it closes this.
  client.on('error', () => undefined);
  client.on('notification', ({ payload = '' }) => void heard.push(payload));
  await client.connect();
  await client.query('LISTEN keybearer');
  return { heard, close: () => client.end() };
}
