import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BadMessage, checkLegacyVersion, type Incoming, readMessage } from '../../src/agent/message.ts';

const VERSION = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const MODERN = '2026-07-28';
const META = { [VERSION]: MODERN, [CAPABILITIES]: {} };

type Headers = Readonly<Record<string, string>>;

const modernHeaders = (method: string, more: Headers = {}): Headers => ({
  'mcp-protocol-version': MODERN,
  'mcp-method': method,
  ...more,
});

function refusal(body: unknown, headers: Headers = {}): BadMessage {
  try {
    readMessage(typeof body === 'string' ? body : JSON.stringify(body), headers);
  } catch (error) {
    if (error instanceof BadMessage) return error;
    throw error;
  }
  throw new Error('the message was taken');
}

const request = (rest: object = {}): object => ({ jsonrpc: '2.0', id: 1, method: 'tools/list', ...rest });
const read = (body: unknown, headers: Headers = {}): Incoming => readMessage(JSON.stringify(body), headers);

describe('a message that is none', () => {
  it.each([
    ['no JSON', '{', 400, -32700],
    ['nothing', '', 400, -32700],
    ['something behind the end', '{}x', 400, -32700],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', 400, -32600],
    ['an empty batch', '[]', 400, -32600],
    ['a text', '"ping"', 400, -32600],
    ['null', 'null', 400, -32600],
    ['another JSON-RPC', '{"jsonrpc":"1.0","id":1,"method":"ping"}', 400, -32600],
    ['no JSON-RPC', '{"id":1,"method":"ping"}', 400, -32600],
    ['no method', '{"jsonrpc":"2.0","id":1}', 400, -32600],
    ['a method that is no text', '{"jsonrpc":"2.0","id":1,"method":7}', 400, -32600],
    ['params that are a list', '{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}', 400, -32602],
    ['params that are null', '{"jsonrpc":"2.0","id":1,"method":"x","params":null}', 400, -32602],
  ])('is refused: %s', (_, body, status, code) => {
    expect(refusal(body)).toMatchObject({ status, code });
  });

  it.each([['null'], ['1.5'], ['true'], ['{}'], ['[1]'], ['9007199254740992'], ['1e300']])(
    'B120: is refused when its id is %s',
    (id) => {
      expect(refusal(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`)).toMatchObject({
        status: 400,
        code: -32600,
        idText: 'null',
      });
    },
  );

  it('says which request it refuses where that could be read', () => {
    expect(refusal(request({ id: 'a', params: [] }))).toMatchObject({ idText: '"a"' });
    expect(refusal('{"jsonrpc":"2.0","id":7}')).toMatchObject({ idText: '7' });
  });

  it('never crashes', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        try {
          readMessage(text, {});
        } catch (error) {
          expect(error).toBeInstanceOf(BadMessage);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('a message of the legacy era', () => {
  it('is told apart: request, notification, answer', () => {
    expect(read(request({ params: { cursor: 'a' } }))).toEqual({
      kind: 'request',
      era: 'legacy',
      idText: '1',
      method: 'tools/list',
      params: { cursor: 'a' },
    });
    expect(read({ jsonrpc: '2.0', method: 'notifications/initialized' })).toMatchObject({
      kind: 'notification',
      idText: 'null',
      params: {},
    });
    expect(read({ jsonrpc: '2.0', id: 1, result: {} })).toMatchObject({ kind: 'answer', idText: '1' });
    expect(read({ jsonrpc: '2.0', id: 'x', error: { code: 1, message: '' } })).toMatchObject({ kind: 'answer' });
  });

  it('B120: keeps its id as it was: same type, same value, plain ASCII', () => {
    for (const id of ['7', 7, '007', 'a/b', 2 ** 53 - 1, -1, 0, '', 'ü"\\\n', 'x'.repeat(200)]) {
      const { idText } = read(request({ id }));
      expect(JSON.parse(idText)).toBe(id);
      expect(idText).toMatch(/^[\u0020-\u007e]*$/);
    }
  });

  it('has the negotiated version in its header, or none', () => {
    expect(() => checkLegacyVersion(undefined, '2025-11-25', '1')).not.toThrow();
    expect(() => checkLegacyVersion('2025-11-25', '2025-11-25', '1')).not.toThrow();
  });

  it.each([
    ['1999-01-01', -32022],
    ['2025-06-18', -32600],
    ['', -32022],
  ])('B305: is refused with version %j in its header', (version, code) => {
    expect(() => checkLegacyVersion(version, '2025-11-25', '5')).toThrow(
      expect.objectContaining({ status: 400, code, idText: '5' }),
    );
  });
});

describe('a message of the modern era', () => {
  const call = request({ method: 'tools/call', params: { name: 'search', _meta: META } });
  const callHeaders = modernHeaders('tools/call', { 'mcp-name': 'search' });

  it('is taken when its headers say what its body says', () => {
    expect(read(call, callHeaders)).toMatchObject({ kind: 'request', era: 'modern', method: 'tools/call' });
    expect(read(request({ params: { _meta: META } }), modernHeaders('tools/list')).era).toBe('modern');
  });

  it('has its name in the header, encoded where it has to be', () => {
    const named = (name: string): object => request({ method: 'tools/call', params: { name, _meta: META } });
    expect(read(named('größe'), modernHeaders('tools/call', { 'mcp-name': '=?base64?Z3LDtsOfZQ==?=' })).era).toBe(
      'modern',
    );
    expect(
      read(named('größe'), modernHeaders('tools/call', { 'mcp-name': Buffer.from('größe').toString('latin1') })).era,
    ).toBe('modern');
    expect(
      read(
        request({ method: 'resources/read', params: { uri: 'file:///a', _meta: META } }),
        modernHeaders('resources/read', { 'mcp-name': 'file:///a' }),
      ).era,
    ).toBe('modern');
  });

  it.each([
    ['no version header', call, { 'mcp-method': 'tools/call', 'mcp-name': 'search' }, -32020],
    ['another version in its header', call, { ...callHeaders, 'mcp-protocol-version': '2025-11-25' }, -32020],
    ['no method header', call, { 'mcp-protocol-version': MODERN, 'mcp-name': 'search' }, -32020],
    ['another method in its header', call, { ...callHeaders, 'mcp-method': 'tools/list' }, -32020],
    ['a method that differs in case', call, { ...callHeaders, 'mcp-method': 'Tools/Call' }, -32020],
    ['no name header', call, modernHeaders('tools/call'), -32020],
    ['another name in its header', call, { ...callHeaders, 'mcp-name': 'delete' }, -32020],
    ['a name header that is no base64', call, { ...callHeaders, 'mcp-name': '=?base64?!?=' }, -32020],
    ['no name at all', request({ method: 'tools/call', params: { _meta: META } }), modernHeaders('tools/call'), -32020],
    ['no capabilities', request({ params: { _meta: { [VERSION]: MODERN } } }), modernHeaders('tools/list'), -32602],
    [
      'capabilities that are no object',
      request({ params: { _meta: { ...META, [CAPABILITIES]: [] } } }),
      modernHeaders('tools/list'),
      -32602,
    ],
    ['the version in the header only', request(), modernHeaders('tools/list'), -32602],
    ['_meta that is no object', request({ params: { _meta: 7 } }), modernHeaders('tools/list'), -32602],
  ])('is refused with %s', (_, body, headers, code) => {
    expect(refusal(body, headers)).toMatchObject({ status: 400, code, idText: '1' });
  });

  it.each([['2027-01-01'], ['2025-11-25'], [''], [7], [null]])(
    'B305: is refused in version %j, and told which there are',
    (version) => {
      expect(refusal(request({ params: { _meta: { ...META, [VERSION]: version } } }))).toMatchObject({
        status: 400,
        code: -32022,
        data: {
          supported: [MODERN, '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
          requested: typeof version === 'string' ? version : 'none',
        },
      });
    },
  );

  it('does not repeat an endless version', () => {
    expect(
      String(refusal(request({ params: { _meta: { [VERSION]: 'x'.repeat(10_000) } } })).data?.['requested']),
    ).toHaveLength(64);
  });

  it('may be a notification without the envelope, which only requests carry', () => {
    expect(
      read({ jsonrpc: '2.0', method: 'notifications/cancelled' }, { 'mcp-protocol-version': MODERN }),
    ).toMatchObject({ kind: 'notification', era: 'modern' });
    expect(read({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { _meta: META } })).toMatchObject({
      kind: 'notification',
      era: 'modern',
    });
  });
});
