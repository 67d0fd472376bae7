// Through the door of one server its prompts and resources are as the server gives them: names, URIs, cursors, unknown
// members and errors, over the caller's own connection.
import { describe, expect, it } from 'vitest';
import { keysOf, LISTS, saidIn } from '../support/offers.ts';
import { PAIRINGS, useScene, withKeys, without } from '../support/scene.ts';
import { objectAt } from '../support/upstreams/message.ts';
import { OWN_ERROR, RESULT_TAIL } from '../support/upstreams/offering-answers.ts';
import {
  GREET,
  ITEM,
  LOGO,
  ODD_URI,
  promptItem,
  README,
  resourceItem,
  templateItem,
} from '../support/upstreams/offering-items.ts';

const scene = useScene();
const LABEL = '"keybearer/origin":{"server":"s","trust":"outside"}';
const [UNKNOWN = '', META = ''] = RESULT_TAIL.split(',"_meta":{');
const GET = { name: 'greet', arguments: { who: 'é', 'x-new': '"' } };
const COMPLETE = { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'who', value: 'é' } };
const ASKED = [
  ['prompts/get', GET, 'prompt=greet;args={"who":"é","x-new":"\\""}'],
  ['resources/read', { uri: 'file:///docs/readme.md' }, 'uri=file:///docs/readme.md'],
  ['resources/read', { uri: 'item://7/data' }, 'uri=item://7/data'],
  ['completion/complete', COMPLETE, 'ref=greet;who=é;context=null'],
] as const;

describe.each(PAIRINGS)('for $agent over a $upstream server', ({ agent: kind, upstream: era }) => {
  const isModern = kind === 'rawModern';
  const open = { requireKey: false };

  describe.each(['json', 'sse'] as const)('over %s', (reply) => {
    it.each(LISTS)('$method arrives byte for byte', async ({ method, member }) => {
      const upstream = await scene.offering(era, { ...open, reply });
      const tenant = await scene.tenant({ s: without(upstream) });
      const agent = await tenant.raw(kind, 'ada', '/mcp/s');
      const text = await (await agent.send(method)).answerText();
      const items = { prompts: [GREET], resources: [README, LOGO], resourceTemplates: [ITEM] };
      expect(text).toContain(`"${member}":[${items[member].join(',')}]`);
      expect(text).toContain(UNKNOWN);
      expect(text).toContain(META);
    });

    it.each(ASKED)('%s of %j arrives byte for byte, labelled as outside content', async (method, params, said) => {
      const upstream = await scene.offering(era, { ...open, reply });
      const tenant = await scene.tenant({ s: without(upstream), t: without(upstream, { trusted: true }) });
      for (const server of ['s', 't']) {
        const agent = await tenant.raw(kind, 'ada', `/mcp/${server}`);
        const response = await agent.send(method, params);
        const text = await response.answerText();
        expect(text).toContain(UNKNOWN);
        expect(text).toContain(META);
        expect(text.split(LABEL).length - 1, text).toBe(server === 's' ? 1 : 0);
        expect(saidIn(objectAt(await response.answer(), 'result'))).toBe(`who=anonymous;at=keyed;${said}`);
      }
      const sent = upstream.seen.findLast((seen) => seen.method === method)?.body as Record<string, never>;
      expect(objectAt(sent, 'params')).toMatchObject(params);
    });
  });

  it('each is asked with the key of the person it is for', async () => {
    const upstream = await scene.offering(era);
    const tenant = await scene.tenant({ s: withKeys(upstream) });
    await tenant.setSecret('s', 'ada', 'key-ada');
    const agent = await tenant.raw(kind, 'ada', '/mcp/s');
    for (const [method, params, said] of ASKED)
      expect(saidIn(await agent.request(method, params))).toBe(`who=ada;at=keyed;${said}`);
  });

  it('names and URIs that nobody else would give are left as they are', async () => {
    const name = 'fix é/bug "now"\n';
    const offer = { prompts: [promptItem(name)], resources: [resourceItem(ODD_URI)] };
    const upstream = await scene.offering(era, { ...open, offer });
    const tenant = await scene.tenant({ s: without(upstream) });
    const agent = await tenant.raw(kind, 'ada', '/mcp/s');
    expect(await keysOf(agent, LISTS[0])).toEqual([name]);
    expect(await keysOf(agent, LISTS[1])).toEqual([ODD_URI]);
    expect(saidIn(await agent.request('prompts/get', { name }))).toContain(`prompt=${name};`);
    expect(saidIn(await agent.request('resources/read', { uri: ODD_URI }))).toContain(`uri=${ODD_URI}`);
  });

  it('bytes of a resource arrive as they are', async () => {
    const upstream = await scene.offering(era, open);
    const tenant = await scene.tenant({ s: without(upstream) });
    const agent = await tenant.raw(kind, 'ada', '/mcp/s');
    expect(await agent.request('resources/read', { uri: 'bin://logo' })).toMatchObject({
      contents: [{ uri: 'bin://logo', mimeType: 'image/png', blob: 'AAECAwT/', 'x-new': { n: 1 } }],
    });
  });

  it.each(LISTS)('$method goes by the cursors of the server, the empty one too', async (list) => {
    const offer = {
      prompts: ['a', 'b', 'c'].map((name) => promptItem(name)),
      resources: ['r:a', 'r:b', 'r:c'].map((uri) => resourceItem(uri)),
      templates: ['t:a{x}', 't:b{x}', 't:c{x}'].map(templateItem),
    };
    const upstream = await scene.offering(era, { ...open, offer, paging: { kind: 'empty-cursor' } });
    const tenant = await scene.tenant({ s: without(upstream) });
    const agent = await tenant.raw(kind, 'ada', '/mcp/s');
    expect((await agent.request(list.method))['nextCursor']).toBe('');
    expect(await keysOf(agent, list)).toHaveLength(3);
    upstream.settings.paging = { kind: 'size', size: 1 };
    expect(await keysOf(agent, list)).toHaveLength(3);
    await expect(agent.request(list.method, { cursor: 'made up' })).rejects.toMatchObject({
      code: -32602,
      message: 'Unknown cursor',
    });
  });

  it("a server's own error stays its own", async () => {
    const offer = {
      prompts: [promptItem('broken')],
      resources: [resourceItem('broken://x')],
      templates: [templateItem('broken://{x}')],
    };
    const upstream = await scene.offering(era, { ...open, offer });
    const tenant = await scene.tenant({ s: without(upstream) });
    const agent = await tenant.raw(kind, 'ada', '/mcp/s');
    const argument = { name: 'x', value: '' };
    for (const [method, params] of [
      ['prompts/get', { name: 'broken' }],
      ['resources/read', { uri: 'broken://x' }],
      ['completion/complete', { ref: { type: 'ref/prompt', name: 'broken' }, argument }],
      ['completion/complete', { ref: { type: 'ref/resource', uri: 'broken://{x}' }, argument }],
    ] as const)
      await expect(agent.request(method, params), method).rejects.toMatchObject(OWN_ERROR);
  });

  it('what it does not have is told as missing', async () => {
    const upstream = await scene.offering(era, open);
    const tenant = await scene.tenant({ s: without(upstream) });
    const agent = await tenant.raw(kind, 'ada', '/mcp/s');
    await expect(agent.request('prompts/get', { name: 'nothing' })).rejects.toMatchObject({ code: -32602 });
    const response = await agent.send('resources/read', { uri: 'no://thing' });
    // Of a server of the other era both are good: its own code, or what this agent's era says instead.
    const codes = isModern === (era === 'modern') ? [isModern ? -32602 : -32002] : [-32602, -32002];
    expect(codes).toContain(objectAt(await response.answer(), 'error')['code']);
  });

  it('a modern agent is told how long each holds, and that it is for this person alone; a legacy one no result type', async () => {
    const upstream = await scene.offering(era, open);
    const silent = await scene.offering(era, { ...open, cache: '' });
    const tenant = await scene.tenant({ s: without(upstream), silent: without(silent) });
    const asked = [...LISTS.map(({ method }) => [method, {}] as const), ...ASKED];
    for (const server of ['s', 'silent']) {
      const agent = await tenant.raw(kind, 'ada', `/mcp/${server}`);
      for (const [method, params] of asked) {
        const result = await agent.request(method, params);
        expect(result['resultType'], method).toBe(isModern ? 'complete' : undefined);
        const isKept = /list$|read$/.test(method);
        if (!isModern || !isKept) continue;
        const isSaid = server === 's' && era === 'modern';
        expect(result, method).toMatchObject({
          ttlMs: isSaid ? 4321 : expect.any(Number),
          cacheScope: 'private',
        });
      }
    }
  });

  it('B093: of a kind that the server lacks there is nothing, and it is not asked for it', async () => {
    const upstream = await scene.offering(era, { ...open, lacks: ['prompts', 'resources', 'completions'] });
    const tenant = await scene.tenant({ s: without(upstream) });
    const agent = await tenant.raw(kind, 'ada', '/mcp/s');
    for (const list of LISTS) expect(await keysOf(agent, list), list.method).toEqual([]);
    for (const [method, params] of ASKED) {
      const answer = await (await agent.send(method, params)).answer();
      // Nothing to propose is as good an answer as that there is no such thing.
      if (method === 'completion/complete' && answer['result'] !== undefined)
        expect(answer).toMatchObject({ result: { completion: { values: [] } } });
      else expect([-32601, -32602, -32002], method).toContain(objectAt(answer, 'error')['code']);
    }
    expect(upstream.seen.filter(({ method }) => /^(prompts|resources|completion)\//.test(method ?? ''))).toEqual([]);
    expect((await agent.listTools()).tools.length).toBeGreaterThan(0);
  });

  it('who leaves takes the request along', async () => {
    const upstream = await scene.offering(era, { ...open, offer: { prompts: [promptItem('never')] } });
    const tenant = await scene.tenant({ s: without(upstream) });
    const agent = await tenant.raw(kind, 'ada', '/mcp/s');
    const leave = new AbortController();
    const asking = agent.request('prompts/get', { name: 'never' }, leave.signal);
    asking.catch(() => {});
    await upstream.until(() => upstream.seen.some(({ method }) => method === 'prompts/get'));
    leave.abort();
    await expect(asking).rejects.toThrow();
    await upstream.until(() => upstream.counters.cancelled + upstream.counters.aborted > 0, 'the cancel');
  });
});

describe.each(['/mcp', '/mcp/s'])('at %s', (path) => {
  it.each([
    ['prompts/get', { name: path === '/mcp' ? 's__asking' : 'asking' }],
    ['resources/read', { uri: 'asking://x' }],
  ] as const)('a modern server may ask the person behind %s before it answers', async (method, params) => {
    const offer = { prompts: [promptItem('asking')], resources: [resourceItem('asking://x')] };
    const upstream = await scene.offering('modern', { requireKey: false, offer });
    const tenant = await scene.tenant({ s: without(upstream) });
    const agent = await tenant.raw('rawModern', 'ada', path);
    const asked = await agent.request(method, params);
    expect(asked).toMatchObject({
      resultType: 'input_required',
      inputRequests: { q: { method: 'elicitation/create' } },
      requestState: 'st-1',
      'x-future': 1,
    });
    const inputResponses = { q: { action: 'accept', content: {} } };
    const again = { ...params, inputResponses, requestState: asked['requestState'] };
    expect(await agent.request(method, again)).toMatchObject({ resultType: 'complete' });
    const sent = upstream.seen.findLast((seen) => seen.method === method)?.body as Record<string, never>;
    expect(objectAt(sent, 'params')).toMatchObject({ inputResponses, requestState: 'st-1' });
  });
});
