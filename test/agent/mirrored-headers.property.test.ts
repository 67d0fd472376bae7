// T16: whatever header and body say, a request goes on only when they say the same.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { BadMessage, readMessage } from '../../src/agent/message.ts';
import { encodeHeaderValue } from '../../src/wire/headers.ts';

const VERSION = '2026-07-28';
const _meta = {
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientCapabilities': {},
};

function codeOf(method: string, name: string, headers: Record<string, string>): number | 'taken' {
  const field = method === 'resources/read' ? 'uri' : 'name';
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { [field]: name, _meta } });
  try {
    return readMessage(body, headers).method === method ? 'taken' : 0;
  } catch (error) {
    if (error instanceof BadMessage) return error.code;
    throw error;
  }
}

const method = fc.constantFrom('tools/call', 'prompts/get', 'resources/read');
const near = fc.constantFrom(
  'a',
  'A',
  ' a',
  'a ',
  'a,a',
  'é',
  'e\u0301',
  '=?base64?YQ==?=',
  '=?base64?YQ?=',
  '',
  'a\u0000',
);
const name = fc.oneof(near, fc.string({ unit: 'binary', maxLength: 12 }));

it('takes a name that the header says too, and no other', () => {
  fc.assert(
    fc.property(method, method, name, name, fc.constantFrom(VERSION, '2025-11-25'), (said, meant, a, b, version) => {
      const headers = { 'mcp-protocol-version': version, 'mcp-method': said, 'mcp-name': encodeHeaderValue(a) };
      // A lone half of a character has no bytes, and is nobody's name.
      const isSame = said === meant && Buffer.from(a).toString() === b && version === VERSION;
      expect(codeOf(meant, b, headers)).toBe(isSame ? 'taken' : -32020);
    }),
    { numRuns: 2_000 },
  );
  for (const same of ['a', 'é', ' a', '=?base64?YQ==?=', ''])
    expect(
      codeOf('tools/call', same, {
        'mcp-protocol-version': VERSION,
        'mcp-method': 'tools/call',
        'mcp-name': encodeHeaderValue(same),
      }),
    ).toBe('taken');
});
