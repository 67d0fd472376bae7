import { describe, expect, it } from 'vitest';
import { CredentialRefusedError, SignInRequiredError } from '../../src/shared/errors.ts';
import { Bench, PERSONAL } from './a-discovery.ts';
import { ACME, ANNA, aTool, settled } from './a-tenant.ts';

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
    expect(bench.discovery.troubleOf(server, '')).toMatchObject({
      state: 'unavailable',
      reason: 'The server cannot be reached.',
    });
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
    const levels = bench.lines
      .filter((line) => line.includes('tools not found'))
      .map((line) => (JSON.parse(line) as { level: number }).level);
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
    expect(bench.discovery.troubleOf(server, '')).toMatchObject({
      state: 'unavailable',
      reason: 'It refused the credential.',
    });
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

describe('a server that a call found unreachable', () => {
  it("is asked until it answers where no person is needed, and nobody is asked on a person's behalf", async () => {
    const bench = new Bench();
    const server = await bench.registered('linear');
    await bench.last.answer(aTool('a'));
    void bench.discovery.doubt(server);
    await settled();
    await bench.last.fail();
    expect(bench.discovery.troubleOf(server, '')).toMatchObject({ state: 'unavailable' });
    await bench.pass(1_000);
    await bench.last.answer(aTool('a'));
    expect([bench.asked.length, bench.discovery.troubleOf(server, '')]).toEqual([3, undefined]);
    await bench.discovery.doubt(await bench.registered('personal', PERSONAL));
    expect(bench.asked).toHaveLength(3);
  });
});
