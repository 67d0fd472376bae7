import { describe, expect, it } from 'vitest';
import { createDiscovery, type Discovery } from '../../src/catalog/discovery.ts';
import type { UpstreamServer } from '../../src/catalog/upstream-server.ts';
import { CredentialRefusedError, ProxyError, SignInRequiredError } from '../../src/shared/errors.ts';
import type { PrincipalId } from '../../src/shared/id.ts';
import { ACME, ANNA, ATenant, aTool, BEN, settled } from './a-tenant.ts';

interface Asked {
  readonly server: UpstreamServer;
  readonly principalId: PrincipalId | undefined;
  readonly signal: AbortSignal;
  answer(...tools: object[]): Promise<void>;
  fail(error?: Error): Promise<void>;
}

const DOWN = new ProxyError('upstream_unavailable', 'The server cannot be reached.');

class Bench extends ATenant {
  readonly asked: Asked[] = [];
  readonly discovery: Discovery;
  random = 0.999_999;

  constructor() {
    super();
    this.discovery = createDiscovery({
      source: (server, principalId, signal) =>
        new Promise((resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
          this.asked.push({
            server,
            principalId,
            signal,
            answer: (...tools) => (resolve(tools), settled()),
            fail: (error = DOWN) => (reject(error), settled()),
          });
        }),
      registry: this.registry,
      clock: this.clock,
      logger: this.logger,
      random: () => this.random,
    });
  }

  get last(): Asked {
    const last = this.asked.at(-1);
    if (last === undefined) throw new Error('nobody was asked');
    return last;
  }

  /** Registers, lets everyone hear of it, and gives the server. */
  async registered(name: string, definition: object = {}): Promise<UpstreamServer> {
    this.define(name, definition);
    await this.refresh();
    await settled();
    return this.server(name);
  }

  tools(name: string): readonly string[] | undefined {
    return this.registry.known(ACME)?.byName.get(name)?.lists.get('')?.tools.map((tool) => tool.name);
  }

  async pass(ms: number): Promise<void> {
    this.clock.advance(ms);
    await settled();
  }
}

const PERSONAL = { credential: { kind: 'secret' } };

describe('finding tools', () => {
  it('asks a server that needs no person as soon as it is registered, once', async () => {
    const bench = new Bench();
    const server = await bench.registered('linear');
    expect(bench.asked).toHaveLength(1);
    await bench.refresh();
    await Promise.race([bench.discovery.ensure(server, '', undefined), settled()]);
    expect(bench.asked).toHaveLength(1);
    await bench.last.answer(aTool('search'));
    expect(bench.tools('linear')).toEqual(['search']);
    expect(bench.discovery.troubleOf(server, '')).toBeUndefined();
  });

  it('never asks a person\'s server on the tenant\'s behalf', async () => {
    const bench = new Bench();
    await bench.registered('linear', PERSONAL);
    expect(bench.asked).toEqual([]);
  });

  it('does not ask one that is switched off or does not hold', async () => {
    const bench = new Bench();
    bench.define('off', { enabled: false });
    bench.define('broken', { url: 'ftp://x' });
    await bench.refresh();
    await settled();
    expect(bench.asked).toEqual([]);
  });

  it('says that a server has not answered yet while it is being asked', async () => {
    const bench = new Bench();
    const server = await bench.registered('linear');
    expect(bench.discovery.troubleOf(server, '')).toEqual({ state: 'pending', reason: 'It has not answered yet.' });
    expect(bench.discovery.isLate(server, '', 5_000)).toBe(false);
    await bench.pass(5_000);
    expect(bench.discovery.isLate(server, '', 5_000)).toBe(true);
  });

  it('B091: never lets a slow server hold up the others', async () => {
    const bench = new Bench();
    for (let n = 0; n < 40; n++) bench.define(`s${n}`);
    await bench.refresh();
    await settled();
    expect(bench.asked).toHaveLength(16);
    await bench.pass(1_000);
    expect(bench.asked).toHaveLength(32);
    await bench.pass(1_000);
    expect(bench.asked).toHaveLength(40);
  });
});

describe('a server that is down', () => {
  it('is asked again with doubling pauses of at most a minute', async () => {
    const bench = new Bench();
    await bench.registered('linear');
    for (const pauseMs of [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]) {
      const tries = bench.asked.length;
      await bench.last.fail();
      await bench.pass(pauseMs - 10);
      expect(bench.asked, `before ${pauseMs}`).toHaveLength(tries);
      await bench.pass(10);
      expect(bench.asked, `after ${pauseMs}`).toHaveLength(tries + 1);
    }
  });

  it('is asked after at least half of the pause, so that many nodes do not come at once', async () => {
    const bench = new Bench();
    bench.random = 0;
    await bench.registered('linear');
    await bench.last.fail();
    await bench.pass(499);
    expect(bench.asked).toHaveLength(1);
    await bench.pass(1);
    expect(bench.asked).toHaveLength(2);
  });

  it('is not asked by every list meanwhile, and says why', async () => {
    const bench = new Bench();
    const server = await bench.registered('linear');
    await bench.last.fail();
    for (let n = 0; n < 5; n++) await bench.discovery.ensure(server, '', undefined);
    expect(bench.asked).toHaveLength(1);
    expect(bench.discovery.troubleOf(server, '')).toEqual({ state: 'unavailable', reason: 'The server cannot be reached.' });
    expect(bench.discovery.isLate(server, '', 5_000)).toBe(true);
  });

  it('starts with a short pause again once it was well', async () => {
    const bench = new Bench();
    const server = await bench.registered('linear');
    for (const pauseMs of [1_000, 2_000]) {
      await bench.last.fail();
      await bench.pass(pauseMs);
    }
    await bench.last.answer(aTool('a'));
    expect(bench.discovery.troubleOf(server, '')).toBeUndefined();
    bench.discovery.renew(server, '', undefined).catch(() => undefined);
    await settled();
    await bench.last.fail();
    await bench.pass(1_000);
    expect(bench.asked).toHaveLength(5);
  });

  it('is logged loudly once and quietly after', async () => {
    const bench = new Bench();
    await bench.registered('linear');
    await bench.last.fail();
    await bench.pass(1_000);
    await bench.last.fail();
    const levels = bench.lines.filter((line) => line.includes('tools not found')).map((line) => (JSON.parse(line) as { level: number }).level);
    expect(levels).toEqual([40, 20]);
  });

  it('tells those who remember a view that its trouble came and went', async () => {
    const bench = new Bench();
    await bench.registered('linear');
    const before = bench.discovery.version(ACME);
    await bench.last.fail();
    const down = bench.discovery.version(ACME);
    await bench.pass(1_000);
    await bench.last.fail();
    expect(bench.discovery.version(ACME)).toBe(down);
    await bench.pass(2_000);
    await bench.last.answer();
    expect([down > before, bench.discovery.version(ACME) > down]).toEqual([true, true]);
  });

  it('hides what went wrong inside of us, and what the credential was', async () => {
    const bench = new Bench();
    const server = await bench.registered('linear');
    await bench.last.fail(new Error('password=hunter2'));
    expect(bench.discovery.troubleOf(server, '')?.reason).toBe('It could not be asked for its tools.');
    await bench.pass(1_000);
    await bench.last.fail(new CredentialRefusedError(401, 'Bearer realm="inner"'));
    expect(bench.discovery.troubleOf(server, '')).toEqual({ state: 'unavailable', reason: 'It refused the credential.' });
  });
});

describe('trying again', () => {
  it.each([
    ['removed', (bench: Bench) => void bench.definitions.delete('linear')],
    ['edited', (bench: Bench) => bench.define('linear', { title: 'New' })],
    ['switched off', (bench: Bench) => bench.define('linear', { enabled: false })],
  ])('stops when the server is %s', async (_, change) => {
    const bench = new Bench();
    const server = await bench.registered('linear');
    await bench.last.fail();
    const pending = bench.clock.pending;
    change(bench);
    await bench.refresh();
    await settled();
    for (const asked of bench.asked.slice(1)) await asked.answer();
    expect(bench.clock.pending).toBe(pending - 1);
    await bench.pass(120_000);
    expect(bench.asked.filter((asked) => asked.server.revision === server.revision)).toHaveLength(1);
    expect(bench.discovery.troubleOf(server, '')).toBeUndefined();
  });

  it('does not begin when the server was removed while it was being asked', async () => {
    const bench = new Bench();
    await bench.registered('linear');
    bench.definitions.delete('linear');
    await bench.refresh();
    await bench.last.fail();
    await bench.pass(120_000);
    expect(bench.asked).toHaveLength(1);
  });

  it('is not done for a server that waits for its person', async () => {
    const bench = new Bench();
    const server = await bench.registered('linear', PERSONAL);
    void bench.discovery.ensure(server, '', ANNA);
    await settled();
    await bench.last.fail(new SignInRequiredError('linear', 'http://x/connect/a', 0));
    await bench.pass(600_000);
    expect(bench.asked).toHaveLength(1);
    expect(bench.discovery.troubleOf(server, '')).toMatchObject({ state: 'sign_in_required' });
  });

  it('B274: leaves nothing behind when it is closed', async () => {
    const bench = new Bench();
    for (const name of ['a', 'b', 'c']) bench.define(name);
    await bench.refresh();
    await settled();
    await bench.asked[0]?.fail();
    bench.discovery.close();
    await settled();
    expect(bench.clock.pending).toBe(0);
    expect(bench.asked.slice(1).every(({ signal }) => signal.aborted)).toBe(true);
    await bench.discovery.ensure(await bench.server('a'), '', undefined);
    expect(bench.asked).toHaveLength(3);
  });
});

describe('asking anew', () => {
  it('B087: reads once more behind a read that is under way, however many ask', async () => {
    const bench = new Bench();
    const server = await bench.registered('linear');
    const renewals = Promise.all([1, 2, 3].map(() => bench.discovery.renew(server, '', undefined)));
    await bench.last.answer(aTool('old'));
    expect(bench.asked).toHaveLength(2);
    await bench.last.answer(aTool('new'));
    await renewals;
    expect(bench.tools('linear')).toEqual(['new']);
    expect(bench.asked).toHaveLength(2);
  });

  it('B090: happens with the new credential although a read with a refused one has just failed', async () => {
    const bench = new Bench();
    const server = await bench.registered('linear', PERSONAL);
    void bench.discovery.ensure(server, '', BEN);
    await settled();
    const renewed = bench.discovery.renew(server, '', ANNA);
    await bench.last.fail(new CredentialRefusedError(401, undefined));
    expect(bench.last.principalId).toBe(ANNA);
    await bench.last.answer(aTool('mine'));
    await renewed;
    expect(bench.tools('linear')).toEqual(['mine']);
  });

  it('says what went wrong, pause or not', async () => {
    const bench = new Bench();
    const server = await bench.registered('linear');
    await bench.last.fail();
    const renewed = bench.discovery.renew(server, '', undefined);
    await settled();
    expect(bench.asked).toHaveLength(2);
    void bench.last.fail();
    await expect(renewed).rejects.toBe(DOWN);
  });

  it('keeps the lists of two people apart', async () => {
    const bench = new Bench();
    const server = await bench.registered('linear', { ...PERSONAL, catalog: 'principal' });
    const both = Promise.all([bench.discovery.renew(server, 'p:anna', ANNA), bench.discovery.renew(server, 'p:ben', BEN)]);
    await settled();
    for (const asked of bench.asked) await asked.answer(aTool(`of-${asked.principalId}`));
    await both;
    const lists = bench.registry.known(ACME)?.byName.get('linear')?.lists;
    expect([...(lists ?? [])].map(([owner, { tools }]) => [owner, tools.map(({ name }) => name)])).toEqual([
      ['p:anna', ['of-anna']],
      ['p:ben', ['of-ben']],
    ]);
  });

  it('counts as failed when the list cannot be kept', async () => {
    const bench = new Bench();
    const server = await bench.registered('linear');
    bench.catalogs.put = () => Promise.reject(new Error('no database'));
    await bench.last.answer(aTool('a'));
    expect(bench.discovery.troubleOf(server, '')).toMatchObject({ state: 'unavailable' });
    await bench.pass(1_000);
    expect(bench.asked).toHaveLength(2);
  });
});
