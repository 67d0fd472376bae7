// Servers offer each on their own: one that is down, slow or broken offers nothing, is named, and holds up nobody.
import { describe, expect, it } from 'vitest';
import { eventually } from '../store/eventually.ts';
import { itemsIn, keysOf, LISTS, serversIn } from '../support/offers.ts';
import { RAW_KINDS, useScene, withKeys, without } from '../support/scene.ts';

const DEADLINE_MS = 600;
const scene = useScene({ limits: { listDeadlineMs: DEADLINE_MS } });
const OPEN = { requireKey: false };

describe.each(RAW_KINDS.flatMap((kind) => LISTS.map((list) => ({ kind, method: list.method, list }))))(
  '$method for $kind',
  ({ kind, list }) => {
    it('is not held up by servers that are down, hang or are broken, and names them with their state', async () => {
      const hanging = await scene.bad('hang', { on: 'anything' });
      const down = await scene.offering('legacy', OPEN);
      await down.close();
      const slow = await scene.offering('modern', { ...OPEN, own: { [list.method]: () => undefined } });
      const refusing = await scene.offering('legacy', {
        ...OPEN,
        own: { [list.method]: (exchange) => exchange.error(-32603, 'No list today') },
      });
      const odd = await scene.offering('modern', {
        ...OPEN,
        own: { [list.method]: (exchange) => exchange.result('{}') },
      });
      const tenant = await scene.tenant({
        good: without(await scene.offering('legacy', OPEN)),
        down: without(down),
        hanging: without(hanging, { connectTimeoutMs: 20_000 }),
        slow: without(slow),
        refusing: without(refusing),
        odd: without(odd),
        keyed: withKeys(await scene.offering('modern')),
        off: without(await scene.offering('legacy', OPEN), { enabled: false }),
      });
      const agent = await tenant.raw(kind);
      const start = performance.now();
      const result = await agent.request(list.method);
      expect(performance.now() - start).toBeLessThan(DEADLINE_MS + 1_500);
      const keys = itemsIn(result, list).map((item) => String(item[list.key]));
      expect(keys.length).toBeGreaterThan(0);
      if (list.key === 'name') expect(keys.filter((name) => !name.startsWith('good__'))).toEqual([]);
      expect(keys.filter((key) => key.startsWith('keybearer:'))).toEqual([]);
      expect(serversIn(result)).toEqual({
        good: { state: 'ok' },
        keyed: { state: 'sign_in_required', reason: expect.any(String) },
        down: { state: 'unavailable', reason: expect.any(String) },
        hanging: { state: 'unavailable', reason: expect.any(String) },
        slow: { state: 'unavailable', reason: expect.any(String) },
        refusing: { state: 'unavailable', reason: expect.any(String) },
        odd: { state: 'unavailable', reason: expect.any(String) },
      });
    });

    it('names a server whose definition does not hold, as the list of tools does', async () => {
      const tenant = await scene.tenant({ good: without(await scene.offering('legacy', OPEN)) });
      await scene.app.sql('INSERT INTO servers (tenant_id, name, definition) VALUES ($1, $2, $3)', [
        tenant.id,
        'broken',
        '{"url":"file:///etc/passwd"}',
      ]);
      const agent = await tenant.raw(kind);
      const state = async (method: string): Promise<unknown> => serversIn(await agent.request(method))['broken'];
      const known = await eventually('the row', async () => state('tools/list'), 2_000);
      expect(known).toMatchObject({ state: 'invalid' });
      expect(await state(list.method)).toEqual(known);
    });

    it('leaves out items that nobody could ask for, and one of two with the same name', async () => {
      const items = ['{}', 'null', '7', '[]', `{"${list.key}":7}`, `{"${list.key}":""}`];
      const good = `{"${list.key}":"x:good","name":"x:good","n":1}`;
      const again = `{"${list.key}":"x:good","name":"x:good","n":2}`;
      const text = `{"${list.member}":[${[...items, good, again].join(',')}]}`;
      const upstream = await scene.offering('legacy', {
        ...OPEN,
        own: { [list.method]: (exchange) => exchange.result(text) },
      });
      const tenant = await scene.tenant({ s: without(upstream) });
      const found = itemsIn(await (await tenant.raw(kind)).request(list.method), list);
      expect(found).toHaveLength(1);
      expect(found[0]).toMatchObject({ n: 1 });
    });

    it('ends although a server pages without end', async () => {
      const endless = await scene.offering('modern', { ...OPEN, paging: { kind: 'endless', pageBytes: 10 } });
      const tenant = await scene.tenant({
        endless: without(endless),
        good: without(await scene.offering('legacy', OPEN)),
      });
      const agent = await tenant.raw(kind);
      const result = await agent.request(list.method);
      expect(serversIn(result)).toMatchObject({ endless: { state: 'unavailable' }, good: { state: 'ok' } });
      expect((await keysOf(agent, list)).filter((key) => String(key).includes('page'))).toEqual([]);
    });

    it('takes a cursor of its own only', async () => {
      const tenant = await scene.tenant({ s: without(await scene.offering('legacy', OPEN)) });
      const agent = await tenant.raw(kind);
      for (const cursor of ['made up', '', 7])
        await expect(agent.request(list.method, { cursor }), String(cursor)).rejects.toMatchObject({ code: -32602 });
    });
  },
);
