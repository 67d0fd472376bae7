import { describe, expect, it } from 'vitest';
import { contextIdOf } from '../../src/credential/context-id.ts';
import type { ServerId } from '../../src/shared/id.ts';
import { aTenantId } from './in-memory.ts';

const of = (tenant: string, server: string): string => contextIdOf(aTenantId(tenant), server as ServerId);

describe('a connection context (D8)', () => {
  it('is the same on every node and after every start, or registered redirect URIs would be void', () => {
    expect(of('acme', 'id-of-notes')).toBe('6LaUHsALLKGkVQVFoXBfZK');
  });

  it('differs with tenant and with server, also where their texts run together (T2)', () => {
    const all = [
      of('acme', 'notes'),
      of('beta', 'notes'),
      of('acme', 'mail'),
      of('acmenotes', ''),
      of('acmen', 'otes'),
    ];
    expect(new Set(all).size).toBe(all.length);
  });

  it('names nobody and fits into a path', () => {
    expect(of('acme', 'notes')).toMatch(/^[A-Za-z0-9_-]{22}$/);
  });
});
