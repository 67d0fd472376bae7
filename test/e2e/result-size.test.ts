// What is larger than the server's limit is cut at a safe place, and the model is told how much is missing.
import { describe, expect, it } from 'vitest';
import { textOf } from '../support/agents/agent.ts';
import { PAIRINGS, useScene, without } from '../support/scene.ts';
import { startScripted } from '../support/scripted-upstream.ts';
import { type JsonObject, objectAt } from '../support/upstreams/message.ts';

const scene = useScene();
const LIMIT = 4_096;
const NOTE = /\[Cut by the proxy: (\d+) of (\d+) bytes are missing\.( Structured content left out\.)?\]$/;

/** Size of the result as its server would have written it: without what the proxy labels it with. */
const sizeOf = ({ _meta: _label, resultType: _type, ...rest }: JsonObject) => Buffer.byteLength(JSON.stringify(rest));

describe.each(PAIRINGS)('for $agent over a $upstream server', ({ agent: kind, upstream: era }) => {
  const served = async (...bodies: string[]) => {
    const typed = (body: string) => (era === 'modern' ? `{"resultType":"complete",${body.slice(1)}` : body);
    const upstream = await scene.keep(
      startScripted({ era, onCall: ({ nth, result }) => result(typed(bodies[nth - 1] ?? '{}')) }),
    );
    const tenant = await scene.tenant({ s: without(upstream, { maxResultBytes: LIMIT }) });
    const agent = await tenant.raw(kind);
    const results: JsonObject[] = [];
    for (const _ of bodies)
      results.push(
        objectAt(await (await agent.send('tools/call', { name: 's__act', arguments: {} })).answer(), 'result'),
      );
    return results;
  };
  /** A whole result of exactly so many bytes on the wire. */
  const ofSize = (bytes: number, fill = 'x') => {
    const frame =
      Buffer.byteLength('{"content":[{"type":"text","text":""}]}') +
      (era === 'modern' ? '"resultType":"complete",'.length : 0);
    return JSON.stringify({
      content: [{ type: 'text', text: fill.repeat((bytes - frame) / Buffer.byteLength(fill)) }],
    });
  };

  it('nothing is cut at the limit and below, one byte more is', async () => {
    const [below, at, above] = await served(ofSize(LIMIT - 1), ofSize(LIMIT), ofSize(LIMIT + 1));
    for (const whole of [below, at]) expect(textOf(whole ?? {})).toMatch(/^x+$/);
    const [, missing, of] = NOTE.exec(textOf(above ?? {})) ?? [];
    expect(Number(of)).toBe(LIMIT + 1);
    expect(Number(missing)).toBeGreaterThan(0);
    expect(sizeOf(above ?? {})).toBeLessThanOrEqual(LIMIT);
    expect(above?.['_meta']).toMatchObject({ 'keybearer/origin': { server: 's', trust: 'outside' } });
  });

  it('characters are not halved, images and structure are left out whole', async () => {
    const image = { type: 'image', mimeType: 'image/png', data: 'A'.repeat(LIMIT) };
    const small = { type: 'image', mimeType: 'image/png', data: 'AAAA' };
    const [emoji, picture, structure, own] = await served(
      JSON.stringify({ content: [{ type: 'text', text: '😀'.repeat(LIMIT) }] }),
      JSON.stringify({ content: [{ type: 'text', text: 'before' }, image, small, { type: 'text', text: 'behind' }] }),
      JSON.stringify({
        content: [{ type: 'text', text: 'kept' }],
        structuredContent: { rows: Array.from({ length: LIMIT }, (_, at) => at) },
      }),
      JSON.stringify({ content: [{ type: 'text', text: 'z'.repeat(2 * LIMIT) }], isError: true }),
    );
    expect(textOf(emoji ?? {})).toMatch(/^(😀)+\[Cut/u);
    const blocks = (picture?.['content'] ?? []) as JsonObject[];
    expect(blocks.filter(({ type }) => type === 'image')).toEqual([small]);
    expect(textOf(picture ?? {})).toMatch(/^before.*image\/png of \d+ bytes left out.*behind\[Cut/);
    expect(structure).not.toHaveProperty('structuredContent');
    expect(textOf(structure ?? {})).toMatch(/^kept\[Cut.*Structured content left out/);
    expect(own).toMatchObject({ isError: true });
    for (const result of [emoji, picture, structure, own]) {
      expect(textOf(result ?? {})).toMatch(NOTE);
      expect(sizeOf(result ?? {})).toBeLessThanOrEqual(LIMIT);
    }
  });
});

it('a megabyte below the limit passes whole', async () => {
  const upstream = await scene.open('legacy', { reply: 'sse' });
  const tenant = await scene.tenant({ s: without(upstream, { maxResultBytes: 2_000_000 }) });
  for (const kind of ['rawLegacy', 'rawModern'] as const) {
    expect(textOf(await (await tenant.raw(kind)).callTool('s__big', { bytes: 1_000_000 }))).toHaveLength(1_000_000);
  }
});
