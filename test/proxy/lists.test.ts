import { describe, expect, it } from 'vitest';
import type { Discovery } from '../../src/catalog/discovery.ts';
import type { UpstreamServer } from '../../src/catalog/upstream-server.ts';
import type { Credential } from '../../src/credential/credential.ts';
import { createSignedIn } from '../../src/proxy/signed-in.ts';
import { createWatchLists } from '../../src/proxy/watch-lists.ts';
import type { TenantId } from '../../src/shared/id.ts';
import { createLogger } from '../../src/shared/logger.ts';
import { ACME, ANNA, ATenant, aTool, texts } from '../catalog/a-tenant.ts';
import { keyOf, tenantKey } from '../connection/support.ts';
import { aServer } from '../credential/in-memory.ts';
import { NEVER, settled, Upstream } from './support.ts';

const CHANGED = 'notifications/tools/list_changed';
const LISTENS = { tools: { listChanged: true } };

function renewals(): { discovery: Discovery; renewed: (readonly [string, string, string | undefined])[] } {
  const renewed: (readonly [string, string, string | undefined])[] = [];
  const discovery: Discovery = {
    ensure: () => Promise.resolve(),
    renew: (server, owner, principalId) => (renewed.push([server.name, owner, principalId]), Promise.resolve()),
    doubt: () => Promise.resolve(),
    troubleOf: () => undefined,
    isLate: () => false,
    version: () => 0,
    close: () => undefined,
  };
  return { discovery, renewed };
}

class Bench extends Upstream {
  readonly renewed;
  readonly watch;
  /** Registered servers whose list is known. */
  readonly known: UpstreamServer[] = [];
  /** The pool's own timer. */
  readonly #timers: number;

  constructor() {
    super();
    const { discovery, renewed } = renewals();
    this.renewed = renewed;
    this.capabilities = LISTENS;
    this.#timers = this.clock.pending;
    const list = { tools: [], dropped: [], foundAt: 0, toolsJson: '[]', stamp: '' };
    this.watch = createWatchLists({
      pool: this.pool,
      discovery,
      registry: {
        known: (tenantId: TenantId) => ({
          version: 1,
          byName: new Map(
            this.known
              .filter((one) => one.tenantId === tenantId)
              .map((server) => [
                server.name,
                { server, source: 'table' as const, enabled: true, definition: {}, lists: new Map([['', list]]) },
              ]),
          ),
        }),
      },
      broker: this.broker,
      clock: this.clock,
      logger: createLogger('silent'),
    });
  }

  async open(credential: Credential = keyOf('anna'), of: UpstreamServer = aServer()): Promise<void> {
    this.pool.release(await this.pool.acquire(of, credential, NEVER));
  }

  get ears(): readonly number[] {
    return this.connections.map(({ listeners }) => listeners.size);
  }

  get timers(): number {
    return this.clock.pending - this.#timers;
  }
}

describe('hearing of list changes', () => {
  it('is done over a live connection once somebody of the tenant listens', async () => {
    const bench = new Bench();
    await bench.open();
    expect(bench.ears).toEqual([0]);
    bench.watch.interest(ACME, true);
    expect(bench.ears).toEqual([1]);
    bench.watch.interest(ACME, false);
    expect(bench.ears).toEqual([0]);
  });

  it('is done over connections that are opened later, too', async () => {
    const bench = new Bench();
    bench.watch.interest(ACME, true);
    await bench.open();
    expect(bench.ears).toEqual([1]);
  });

  it("is not done for another tenant's listeners", async () => {
    const bench = new Bench();
    bench.watch.interest('umbrella' as typeof ACME, true);
    await bench.open();
    expect(bench.ears).toEqual([0]);
  });

  it('B087: reads the list once for a burst of notices', async () => {
    const bench = new Bench();
    bench.watch.interest(ACME, true);
    await bench.open();
    for (let n = 0; n < 5; n++) bench.connections[0]?.say(CHANGED);
    bench.clock.advance(99);
    expect(bench.renewed).toEqual([]);
    bench.clock.advance(1);
    expect(bench.renewed).toEqual([['notes', '', 'anna']]);
    // And at most once a second, however often the server says so.
    for (let n = 0; n < 5; n++) {
      bench.connections[0]?.say(CHANGED);
      bench.clock.advance(100);
    }
    expect(bench.renewed).toHaveLength(1);
    bench.clock.advance(500);
    expect(bench.renewed).toHaveLength(2);
  });

  it.each(['the server hangs up', 'all agents leave'])(
    'T27: reads it once a second also where %s each time',
    async (how) => {
      const bench = new Bench();
      for (let n = 0; n < 20; n++) {
        bench.watch.interest(ACME, true);
        await bench.open();
        bench.connections.at(-1)?.say(CHANGED);
        bench.clock.advance(100);
        if (how === 'the server hangs up') await bench.connections.at(-1)?.close();
        else bench.watch.interest(ACME, false);
      }
      expect(bench.renewed.length, 'in two seconds').toBe(2);
      bench.clock.advance(2_000);
      expect(bench.renewed).toHaveLength(3);
      bench.watch.interest(ACME, false);
      bench.watch.close();
      expect(bench.timers).toBe(0);
    },
  );

  it('hears of nothing else', async () => {
    const bench = new Bench();
    bench.watch.interest(ACME, true);
    await bench.open();
    const before = bench.timers;
    bench.connections[0]?.say('notifications/prompts/list_changed');
    expect(bench.timers).toBe(before);
  });

  it('does not listen to a server that announces no changes', async () => {
    const bench = new Bench();
    bench.watch.interest(ACME, true);
    for (const capabilities of [{}, { tools: {} }, { tools: { listChanged: 'yes' } }, { tools: null }]) {
      bench.capabilities = capabilities;
      await bench.open(keyOf(`p${bench.connections.length}`));
    }
    expect(bench.ears).toEqual([0, 0, 0, 0]);
  });

  it('listens over one connection for a list that is shared, and moves to another when that one ends', async () => {
    const bench = new Bench();
    bench.watch.interest(ACME, true);
    for (const name of ['anna', 'ben', 'carl']) await bench.open(keyOf(name));
    expect(bench.ears).toEqual([1, 0, 0]);
    await bench.connections[0]?.close();
    expect(bench.ears).toEqual([0, 1, 0]);
    bench.connections[1]?.say(CHANGED);
    bench.clock.advance(100);
    expect(bench.renewed).toEqual([['notes', '', 'ben']]);
  });

  it('listens for each person where each has a list of their own', async () => {
    const bench = new Bench();
    bench.watch.interest(ACME, true);
    const own = aServer({ catalog: 'principal' });
    for (const name of ['anna', 'ben']) await bench.open(keyOf(name), own);
    expect(bench.ears).toEqual([1, 1]);
    bench.connections[1]?.say(CHANGED);
    bench.clock.advance(100);
    expect(bench.renewed).toEqual([['notes', 'p:ben', 'ben']]);
  });

  it("asks with the tenant's key where it is the tenant's", async () => {
    const bench = new Bench();
    bench.watch.interest(ACME, true);
    await bench.open(tenantKey(), aServer({ credential: { kind: 'secret', owner: 'tenant' } }));
    bench.connections[0]?.say(CHANGED);
    bench.clock.advance(100);
    expect(bench.renewed).toEqual([['notes', '', undefined]]);
  });

  it('opens a connection for it where none is live, and reads what it may have missed', async () => {
    const bench = new Bench();
    bench.credential = { kind: 'none' };
    bench.known.push(aServer({ credential: undefined }));
    bench.watch.interest(ACME, true);
    await settled();
    expect(bench.ears).toEqual([1]);
    bench.clock.advance(100);
    expect(bench.renewed).toEqual([['notes', '', undefined]]);
    await bench.connections[0]?.close();
    bench.clock.advance(60_000);
    await settled();
    expect(bench.ears).toEqual([0, 1]);
  });

  it("opens none with a person's key, none for a server that announces nothing, and none while nobody listens", async () => {
    const bench = new Bench();
    bench.known.push(aServer(), aServer({ credential: undefined, enabled: false }, { name: 'off' }));
    bench.watch.interest(ACME, true);
    await settled();
    expect(bench.connections).toEqual([]);
    bench.known.push(aServer({ credential: undefined }, { name: 'silent' }));
    [bench.credential, bench.capabilities] = [{ kind: 'none' }, { tools: {} }];
    bench.clock.advance(60_000);
    await settled();
    expect(bench.connections).toHaveLength(1);
    await bench.connections[0]?.close();
    // As each reading of the registry does, changed or not.
    bench.known.push({ ...(bench.known.pop() as UpstreamServer) });
    bench.clock.advance(600_000);
    await settled();
    expect(bench.connections).toHaveLength(1);
    bench.watch.interest(ACME, false);
    expect(bench.timers).toBe(0);
  });

  it('B272: leaves nothing on a connection however often agents come and go', async () => {
    const bench = new Bench();
    await bench.open();
    for (let n = 0; n < 100; n++) {
      bench.watch.interest(ACME, true);
      bench.watch.interest(ACME, false);
    }
    expect(bench.connections[0]?.closers).toBe(2);
  });

  it('leaves no ear and no timer when it is closed', async () => {
    const bench = new Bench();
    bench.watch.interest(ACME, true);
    await bench.open();
    bench.connections[0]?.say(CHANGED);
    bench.watch.close();
    expect([bench.ears, bench.timers]).toEqual([[0], 0]);
    bench.clock.advance(1_000);
    expect(bench.renewed).toEqual([]);
  });
});

describe('after a sign-in', () => {
  const ofAnna = { kind: 'principal', principalId: ANNA } as const;
  const PERSONAL = { credential: { kind: 'secret' } };

  async function aSignIn(
    definition: object,
    list?: { owner: string },
  ): Promise<{ renewed: readonly unknown[]; run: (owner: typeof ofAnna | { kind: 'tenant' }) => Promise<void> }> {
    const tenant = new ATenant();
    tenant.define('linear', definition);
    const server = await tenant.server('linear');
    if (list !== undefined) await tenant.registry.keepList(server, list.owner, texts([aTool('a')]));
    const { discovery, renewed } = renewals();
    const signedIn = createSignedIn(discovery, tenant.registry);
    return { renewed, run: async (owner) => signedIn(await tenant.server('linear'), owner) };
  }

  it('the tools are looked for with the new credential', async () => {
    const { renewed, run } = await aSignIn(PERSONAL);
    await run(ofAnna);
    expect(renewed).toEqual([['linear', '', 'anna']]);
  });

  it('what the first one found serves everyone: a later one changes nothing for the others', async () => {
    const { renewed, run } = await aSignIn(PERSONAL, { owner: '' });
    await run(ofAnna);
    expect(renewed).toEqual([]);
  });

  it('each person gets their own list where that is wanted, also a second time', async () => {
    const { renewed, run } = await aSignIn({ ...PERSONAL, catalog: 'principal' }, { owner: 'p:anna' });
    await run(ofAnna);
    expect(renewed).toEqual([['linear', 'p:anna', 'anna']]);
  });

  it("the tenant's own key finds the tenant's list", async () => {
    const { renewed, run } = await aSignIn({ credential: { kind: 'secret', owner: 'tenant' } });
    await run({ kind: 'tenant' });
    expect(renewed).toEqual([['linear', '', undefined]]);
  });
});
