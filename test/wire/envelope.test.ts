import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Hop, readdressProgress, writeRequest } from '../../src/wire/envelope.ts';
import { asciiJson } from '../../src/wire/reply.ts';

const VERSION = 'io.modelcontextprotocol/protocolVersion';
const CLIENT = 'io.modelcontextprotocol/clientInfo';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';

const client = { name: 'keybearer', version: '1.2.3' };
const legacy: Hop = { era: 'legacy', client, capabilities: {} };
const modern: Hop = { era: 'modern', client, capabilities: { sampling: {} } };

/** What an agent of the modern era wrote for us, and what else it put there. */
const AGENT_META = {
  [VERSION]: '2026-07-28',
  [CLIENT]: { name: 'agent', version: '9' },
  [CAPABILITIES]: { elicitation: { url: {} } },
  progressToken: 'agent-token',
  'vendor/key': { deep: [1] },
  traceparent: '00-1-2-03',
};
const OWN = { 'vendor/key': { deep: [1] }, traceparent: '00-1-2-03' };

const parsed = (text: string): { params?: Record<string, unknown> } =>
  JSON.parse(text) as { params?: Record<string, unknown> };

describe('writeRequest', () => {
  it('drops what the agent wrote for this hop, and keeps what it wrote for the server', () => {
    const text = writeRequest(7, 'tools/call', { name: 'x', _meta: AGENT_META }, legacy, false);
    expect(parsed(text)).toEqual({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'x', _meta: OWN } });
  });

  it('says in the modern era who asks in which version: we, not the agent', () => {
    const text = writeRequest(7, 'tools/call', { name: 'x', _meta: AGENT_META }, modern, false);
    expect(parsed(text).params?.['_meta']).toEqual({
      ...OWN,
      [VERSION]: '2026-07-28',
      [CLIENT]: client,
      [CAPABILITIES]: { sampling: {} },
    });
  });

  it("B116: asks for progress under our own id, never under the agent's token", () => {
    expect(parsed(writeRequest(7, 'tools/call', { _meta: AGENT_META }, legacy, true)).params?.['_meta']).toEqual({
      ...OWN,
      progressToken: 7,
    });
    expect(parsed(writeRequest(7, 'tools/call', { _meta: AGENT_META }, modern, true)).params?.['_meta']).toMatchObject({
      progressToken: 7,
    });
    expect(parsed(writeRequest(7, 'tools/call', undefined, legacy, true)).params).toEqual({
      _meta: { progressToken: 7 },
    });
  });

  it('passes a wanted log level on to the modern era only, which alone knows it', () => {
    const params = { _meta: { [LOG_LEVEL]: 'debug' } };
    expect(parsed(writeRequest(1, 'tools/call', params, modern, false)).params?.['_meta']).toMatchObject({
      [LOG_LEVEL]: 'debug',
    });
    expect(parsed(writeRequest(1, 'tools/call', params, legacy, false)).params?.['_meta']).toBeUndefined();
  });

  it('sends no params where there are none, and no _meta where nothing is left of it', () => {
    expect(writeRequest(1, 'ping', undefined, legacy, false)).toBe('{"jsonrpc":"2.0","id":1,"method":"ping"}');
    expect(writeRequest(1, 'x', { _meta: { progressToken: 1 } }, legacy, false)).toBe(
      '{"jsonrpc":"2.0","id":1,"method":"x","params":{}}',
    );
    expect(writeRequest(1, 'x', { _meta: 'no object' }, legacy, false)).toBe(
      '{"jsonrpc":"2.0","id":1,"method":"x","params":{}}',
    );
  });

  it('carries every other member of the params as it is, whatever it is called', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('__proto__', 'id', 'method')), fc.jsonValue()),
        (members) => {
          const { _meta: _, ...own } = JSON.parse(JSON.stringify(members)) as Record<string, unknown>;
          expect(JSON.stringify(parsed(writeRequest(3, 'tools/call', own, legacy, false)).params)).toBe(
            JSON.stringify(own),
          );
        },
      ),
    );
  });
});

describe('readdressProgress', () => {
  const note = (token: string, message = 'half way'): string =>
    JSON.stringify({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { message, progressToken: 0, progress: 1, total: 2 },
    }).replace('"progressToken":0', `"progressToken":${token}`);

  it("puts the agent's token in the place of ours and touches nothing else", () => {
    expect(readdressProgress(note('7'), 7, '"mine"')).toBe(note('"mine"'));
    expect(readdressProgress(note('"7"'), 7, '12')).toBe(note('12'));
    expect(readdressProgress(note(' \t7'), 7, '12')).toBe(note(' \t12'));
  });

  it('never touches a token inside a text', () => {
    const texts = fc.oneof(
      fc.constantFrom('"progressToken":7', '","progressToken":7,"', '\\","progressToken":7', 'progressToken: 7'),
      fc.string({ unit: fc.constantFrom('"progressToken"', ':', '7', '\\', '"', ' ', ','), maxLength: 12 }),
    );
    fc.assert(
      fc.property(texts, fc.oneof(fc.string(), fc.nat()), (message, token) => {
        const out = readdressProgress(note('7', message), 7, asciiJson(token));
        expect(JSON.parse(out ?? '')).toEqual({
          jsonrpc: '2.0',
          method: 'notifications/progress',
          params: { message, progressToken: token, progress: 1, total: 2 },
        });
      }),
      { numRuns: 1_000 },
    );
  });

  it.each(['8', '"8"', 'null', '"seven"', '70', '17', '{}', '7.5', '7e1', '-7', '[7]', '"7 "'])(
    'B027: drops one whose token, %s, was never given out',
    (token) => {
      expect(readdressProgress(note(token), 7, '"mine"')).toBeUndefined();
    },
  );

  it.each([
    '{"method":"notifications/progress","params":{"progressToken":7,"progressToken":3,"progress":1}}',
    '{"method":"notifications/progress","params":{"_meta":{"progressToken":7},"progressToken":3,"progress":1}}',
    '{"method":"notifications/progress","params":{"progressToken":7,"\\u0070rogressToken":3,"progress":1}}',
    '{"method":"notifications/progress","params":{"progressToken":7,"\\u0050\\u0072ogressToken":3,"progress":1}}',
  ])('B130: drops one that would reach another call of the agent by a second token: %s', (raw) => {
    expect(readdressProgress(raw, 7, '"mine"')).toBeUndefined();
  });

  it('says nothing to an agent that asked for no progress, but lets it count as a sign of life', () => {
    expect(readdressProgress(note('7'), 7, undefined)).toBe('');
  });
});
