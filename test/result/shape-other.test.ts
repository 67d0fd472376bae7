// Answers to requests that are no calls of tools: labelled as those are, never cut, and with how long they keep.
import { describe, expect, it } from 'vitest';
import { createShaper } from '../../src/result/shape.ts';
import type { Era } from '../../src/wire/era.ts';
import { type JsonObject, Reply } from '../../src/wire/reply.ts';
import { serverOf, URL_ONLY } from '../catalog/read-definition.ts';

const server = serverOf({ ...URL_ONLY, maxResultBytes: 400 });
const shaper = createShaper({ name: 'keybearer', version: '1.2.3' });
const LABEL = { 'keybearer/origin': { server: server.name, trust: 'outside' } };

function shaped(member: string, from: Era, to: Era, isCacheable = true): JsonObject {
  const reply = Reply.from(Buffer.from(`{"jsonrpc":"2.0","id":5,${member}}`));
  if (reply === undefined) throw new Error('no answer');
  const { reply: out, edits } = shaper.shapeOther(reply, server, from, to, isCacheable);
  const parts = out.parts('9', edits).map((part) => (typeof part === 'string' ? Buffer.from(part) : part));
  return JSON.parse(Buffer.concat(parts).toString()) as JsonObject;
}

describe('what is read or listed', () => {
  it('of a server of either era tells a modern agent how long it keeps, and that it is private', () => {
    for (const from of ['legacy', 'modern'] as const)
      expect(shaped('"result":{"contents":[],"x":{"y":1}}', from, 'modern')['result']).toMatchObject({
        contents: [],
        x: { y: 1 },
        ttlMs: 0,
        cacheScope: 'private',
        _meta: LABEL,
      });
  });

  it.each([
    ['{"ttlMs":5,"cacheScope":"public","contents":[]}', 5],
    ['{"contents":[],"cacheScope" : "public" , "ttlMs":7}', 7],
    ['{"cacheScope":{"a":"public"},"contents":[]}', 0],
    ['{"contents":["ttlMs","cacheScope"]}', 0],
  ])('is private whatever its server says, and keeps as long as that says: %s', (result, ttlMs) => {
    expect(shaped(`"result":${result}`, 'modern', 'modern')['result']).toMatchObject({ ttlMs, cacheScope: 'private' });
  });

  it('tells a legacy agent neither, nor does what is not cacheable', () => {
    expect(shaped('"result":{"resultType":"complete","contents":[]}', 'modern', 'legacy')['result']).toEqual({
      contents: [],
      _meta: LABEL,
    });
    expect(shaped('"result":{"messages":[]}', 'legacy', 'modern', false)['result']).not.toHaveProperty('ttlMs');
  });

  it('is refused when it is too large, with what an admin can do', () => {
    const text = 'x'.repeat(390);
    expect(() => shaped(`"result":{"contents":["${text}"]}`, 'legacy', 'legacy')).toThrow(/maxResultBytes is 400/);
    expect(() => shaped(`"result":{"contents":["${text}"]}`, 'legacy', 'legacy')).toThrow(
      expect.objectContaining({ code: 'upstream_protocol' }) as Error,
    );
  });
});

describe('an error', () => {
  it("stays the server's own", () => {
    const error = { code: -32002, message: 'no such', data: { uri: 'x' } };
    expect(shaped(`"error":${JSON.stringify(error)}`, 'legacy', 'legacy')).toEqual({ jsonrpc: '2.0', id: 9, error });
    expect(shaped(`"error":${JSON.stringify(error)}`, 'legacy', 'modern')).toEqual({
      jsonrpc: '2.0',
      id: 9,
      error: { ...error, code: -32602 },
    });
  });
});
