import { describe, expect, it } from 'vitest';
import { parseChange } from '../../src/store/parse-change.ts';

const about = { tenantId: 'acme', serverId: 's', owner: 'p:ada' };

describe('a notice', () => {
  it.each([
    { kind: 'resync' },
    { kind: 'tenants', tenantId: 'acme' },
    { kind: 'issuers', tenantId: 'acme' },
    { kind: 'agent_keys', tenantId: 'acme' },
    { kind: 'servers', tenantId: 'acme', serverId: 's' },
    { kind: 'catalogs', ...about, owner: '' },
    { kind: 'credentials', ...about },
    { kind: 'sign_in_denied', ...about },
  ])('of kind $kind is read', (change) => {
    expect(parseChange(JSON.stringify({ ...change, more: 1 }))).toEqual(change);
  });

  it.each([
    '',
    'null',
    '[]',
    '{}',
    '{"kind":"made_up","tenantId":"acme","serverId":"s","owner":"p:ada"}',
    '{"kind":"sign_in_denied"}',
    '{"kind":"sign_in_denied","tenantId":"Acme!","serverId":"s","owner":"p:ada"}',
    '{"kind":"sign_in_denied","tenantId":"acme","owner":"p:ada"}',
    '{"kind":"sign_in_denied","tenantId":"acme","serverId":"s"}',
    '{"kind":"credentials","tenantId":"acme","serverId":"s","owner":7}',
  ])('that is no change is nothing: %s', (payload) => {
    expect(parseChange(payload)).toBeUndefined();
  });
});
