// One object of the MCP SDK never serves two: shared ones have handed answers to the wrong client (CVE-2026-25536).
// So the product makes none but the old transport's, one for each connection; whoever adds another meets this list.
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';

const SRC = resolve(import.meta.dirname, '../../src');
const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .toSorted();
const found = (pattern: RegExp): readonly string[] =>
  files.flatMap((name) =>
    [...readFileSync(join(SRC, name), 'utf8').matchAll(pattern)].map(([, what]) => `${name}: ${what ?? ''}`),
  );

it('takes no more of the SDK than the old transport and its types', () => {
  expect(files.length).toBeGreaterThan(200);
  expect([...found(/^import (?!type).*'@modelcontextprotocol\/([^']+)'/gm)]).toEqual([
    'upstream/sse-link.ts: sdk/client/sse.js',
  ]);
});

it('makes that transport for one connection, and no server, client or transport beside it', () => {
  expect(found(/new ((?:Mcp|\w+)?(?:Server|Client|Transport)) ?\(/g)).toEqual([
    // Of undici: the client of one socket.
    'upstream/egress/socket-pool.ts: Client',
    'upstream/sse-link.ts: SSEClientTransport',
  ]);
  const text = readFileSync(join(SRC, 'upstream/sse-link.ts'), 'utf8');
  // Within the class of which each dial makes a new one.
  expect(text.indexOf('new SSEClientTransport')).toBeGreaterThan(text.indexOf('class SseLink'));
  expect(text).toContain('const link = new SseLink(');
});
