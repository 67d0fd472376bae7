import { describe, expect, it } from 'vitest';
import type { PrincipalId } from '../../src/shared/id.ts';
import { ALL, Bench, DOWN, NEVER, PERSONAL } from './a-catalog.ts';
import { ACME, ANNA, aCaller, aTool, BEN, settled } from './a-tenant.ts';
import { toolsIn } from './a-view.ts';

describe('waiting for servers that are not known yet', () => {
  it('B091: lasts no longer than the list deadline, and the fast ones are there', async () => {
    const bench = new Bench();
    bench.serve('slow', 'silence');
    bench.serve('fast', [aTool('x')]);
    bench.serve('down', DOWN);
    const listing = bench.view();
    await settled();
    let isDone = false;
    listing.then(
      () => (isDone = true),
      () => undefined,
    );
    bench.clock.advance(4_999);
    await settled();
    expect(isDone).toBe(false);
    bench.clock.advance(1);
    expect(toolsIn(await listing)).toEqual(['fast__x']);
    expect(await bench.states()).toEqual({ slow: 'unavailable', fast: 'ok', down: 'unavailable' });
  });

  it('is not done again by every list for one that was waited for in vain', async () => {
    const bench = new Bench();
    bench.serve('slow', 'silence');
    const first = bench.view();
    await settled();
    bench.clock.advance(5_000);
    await first;
    await expect(Promise.race([bench.tools(), settled().then(() => 'still waiting')])).resolves.toEqual([]);
  });

  it('is over as soon as all have answered, well or not', async () => {
    const bench = new Bench();
    bench.serve('fast', [aTool('x')]);
    bench.serve('down', DOWN);
    expect(await bench.tools()).toEqual(['fast__x']);
  });

  it('ends when the agent leaves, also when it has left already', async () => {
    const bench = new Bench();
    bench.serve('slow', 'silence');
    const leaver = new AbortController();
    const listing = bench.catalog.view(aCaller(), ALL, leaver.signal);
    await settled();
    leaver.abort(new Error('left'));
    await expect(listing).resolves.toBeDefined();
    const other = new Bench();
    other.serve('slow', 'silence');
    await expect(other.catalog.view(aCaller(), ALL, leaver.signal)).resolves.toBeDefined();
  });

  it('leaves no timer and no listener behind', async () => {
    const bench = new Bench();
    bench.serve('fast', [aTool('x')]);
    await bench.view();
    expect(bench.clock.pending).toBe(0);
  });
});

describe('a list that is known', () => {
  it('B091: is given at once, whatever its server does now, and read again in the background when it is old', async () => {
    const bench = new Bench();
    bench.serve('linear', [aTool('old')]);
    await bench.view();
    bench.clock.advance(600_001);
    bench.replies.set('linear', [aTool('new')]);
    expect(await bench.tools()).toEqual(['linear__old']);
    await settled();
    expect(await bench.tools()).toEqual(['linear__new']);
    bench.replies.set('linear', 'silence');
    bench.clock.advance(600_001);
    expect(await bench.tools()).toEqual(['linear__new']);
  });

  it('is called cached while its server is down', async () => {
    const bench = new Bench();
    bench.serve('linear', [aTool('x')]);
    await bench.view();
    bench.replies.set('linear', DOWN);
    bench.clock.advance(600_001);
    await bench.view();
    await settled();
    expect(await bench.states()).toEqual({ linear: 'cached' });
    expect(bench.catalog.status(ACME, 'linear')).toMatchObject({
      state: 'cached',
      reason: 'The server cannot be reached.',
      toolCount: 1,
    });
  });

  it('harms nothing when it is old and credentials cannot be looked up', async () => {
    const bench = new Bench();
    bench.serve('linear', [aTool('x')], PERSONAL);
    bench.signedIn.add('linear anna');
    await bench.view();
    bench.clock.advance(600_001);
    bench.credentialsFail = true;
    expect(await bench.tools()).toEqual(['linear__x']);
    await settled();
  });
});

describe('a server that needs its person', () => {
  it('offers the stand-in to everyone until somebody has signed in, and is asked for nobody', async () => {
    const bench = new Bench();
    bench.serve('linear', [aTool('search')], PERSONAL);
    expect(await bench.tools()).toEqual(['linear__connect']);
    expect(await bench.states()).toEqual({ linear: 'sign_in_required' });
    expect(bench.asked).toEqual([]);
  });

  it('B089: offers its tools to all of the tenant after the first sign-in', async () => {
    const bench = new Bench();
    bench.serve('linear', [aTool('search')], PERSONAL);
    bench.signedIn.add('linear anna');
    expect(await bench.tools(aCaller(ANNA))).toEqual(['linear__search']);
    expect(bench.asked).toEqual([['linear', ANNA]]);
    expect(await bench.tools(aCaller(BEN))).toEqual(['linear__search']);
  });

  it('B225: with lists of their own shows each person only theirs', async () => {
    const bench = new Bench();
    bench.serve('linear', [aTool('of-anna')], { ...PERSONAL, catalog: 'principal' });
    bench.signedIn.add('linear anna').add('linear ben');
    expect(await bench.tools(aCaller(ANNA))).toEqual(['linear__of-anna']);
    bench.replies.set('linear', [aTool('of-ben')]);
    expect(await bench.tools(aCaller(BEN))).toEqual(['linear__of-ben']);
    expect(await bench.tools(aCaller(ANNA))).toEqual(['linear__of-anna']);
    expect(await bench.tools(aCaller('carl' as PrincipalId))).toEqual(['linear__connect']);
    expect(await bench.catalog.find(aCaller(BEN), ALL, 'linear__of-anna', NEVER)).toBeUndefined();
  });

  it('that does not answer is unavailable and not a matter of signing in', async () => {
    const bench = new Bench();
    bench.serve('linear', DOWN, PERSONAL);
    bench.signedIn.add('linear anna');
    await bench.view();
    expect(await bench.states()).toEqual({ linear: 'unavailable' });
  });
});
