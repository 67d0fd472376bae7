// What a server wants to see in headers: its key by any name, an argument its schema asks for, the admin's own.
import { describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import { PAIRINGS, useScene, withKeys, without } from '../support/scene.ts';
import type { JsonObject } from '../support/upstreams/message.ts';

const scene = useScene();

describe.each(PAIRINGS)('for $agent over a $upstream server', ({ agent: kind, upstream: era }) => {
  it('the key goes where the definition says, as a bare value too, beside the static headers (B232)', async () => {
    const upstream = await scene.keyed(era, { header: 'X-Api-Key', scheme: '' });
    const tenant = await scene.tenant({
      s: {
        url: upstream.url,
        headers: { Authorization: 'Basic team', 'x-team': 'core' },
        credential: { owner: 'principal', kind: 'secret', header: 'X-API-KEY', scheme: '' },
      },
    });
    await tenant.setSecret('s', 'ada', 'key-ada');
    expect(textOf(await (await tenant.raw(kind)).callTool('s__whoami'))).toMatch(/^who=ada;/);
    for (const { headers } of upstream.seen)
      expect(headers).toMatchObject({ 'x-api-key': 'key-ada', authorization: 'Basic team', 'x-team': 'core' });
  });

  it('an argument marked with x-mcp-header is mirrored for modern servers, whatever its text', async () => {
    const upstream = await scene.open(era);
    const tenant = await scene.tenant({ s: without(upstream) });
    const agent = await tenant.raw(kind);
    for (const region of ['eu', 'größe 漢', ' padded ', '=?base64?x?=', 'line\nbreak', '']) {
      expect(
        (await agent.callTool('s__regional', { region }))['structuredContent'],
        JSON.stringify(region),
      ).toMatchObject({ args: { region } });
    }
    expect((await agent.callTool('s__regional', {}))['structuredContent']).toMatchObject({ args: {} });
    const sent = upstream.seen
      .filter(({ method }) => method === 'tools/call')
      .map(({ headers }) => headers['mcp-param-region']);
    if (era === 'legacy') expect(sent.filter((value) => value !== undefined)).toEqual([]);
    else expect(sent[0]).toBe('eu');
  });

  it('trace context and unknown _meta go on, the hop’s own do not', async () => {
    const upstream = await scene.open(era);
    const tenant = await scene.tenant({ s: without(upstream) });
    const agent = await tenant.raw(kind);
    await agent.request('tools/call', {
      name: 's__whoami',
      arguments: {},
      _meta: { traceparent: '00-1-2-01', 'vendor/x': { y: 1 }, progressToken: 'agents' },
    });
    const { body } = upstream.seen.find(({ method }) => method === 'tools/call') ?? {};
    const { _meta } = ((body as JsonObject)['params'] ?? {}) as { _meta: JsonObject };
    expect(_meta).toMatchObject({ traceparent: '00-1-2-01', 'vendor/x': { y: 1 } });
    expect(_meta['progressToken']).not.toBe('agents');
    if (era === 'modern') expect(_meta['io.modelcontextprotocol/clientInfo']).toMatchObject({ name: 'keybearer' });
    else expect(Object.keys(_meta).filter((key) => key.startsWith('io.modelcontextprotocol/'))).toEqual([]);
  });

  it('a person is told apart by every byte of a name', async () => {
    const upstream = await scene.keyed(era);
    const tenant = await scene.tenant({ s: withKeys(upstream) });
    const bytes = (text: string) => Buffer.from(text).toString('latin1');
    await tenant.setSecret('s', 'zoë 漢, x', 'key-ada');
    await tenant.setSecret('s', 'Zoë 漢, x', 'key-bob');
    expect(textOf(await (await tenant.raw(kind, bytes('zoë 漢, x'))).callTool('s__whoami'))).toMatch(/^who=ada;/);
    expect(textOf(await (await tenant.raw(kind, bytes('Zoë 漢, x'))).callTool('s__whoami'))).toMatch(/^who=bob;/);
    expect(await (await tenant.raw(kind, bytes('zoe\u0308 漢, x'))).callTool('s__whoami')).toMatchObject({
      structuredContent: { error: 'sign_in_required' },
    });
  });
});
