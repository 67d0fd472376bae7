// The corpus at its text: what is told from a URL alone.
import { describe, expect, it } from 'vitest';
import { checkUrl } from '../../../src/upstream/egress/check-url.ts';
import { createPolicy } from '../../../src/upstream/egress/policy.ts';
import { settingsOf, VECTORS, type Vector, vectorsOf } from './vectors.ts';

const PLAINLY_PUBLIC = new Set(['93.184.216.34', '1.1.1.1', '8.8.8.8']);

/** Nothing but its text is wrong with it: it names an address, or resolves to public ones only. */
const isWrongAsText = ({ verdict, config, resolves_to, resolver_error }: Vector): boolean =>
  verdict === 'deny' &&
  resolver_error === undefined &&
  config?.selfAddresses === undefined &&
  (resolves_to ?? []).every((address) => PLAINLY_PUBLIC.has(address)) &&
  (resolves_to?.length ?? 1) > 0 &&
  (resolves_to?.length ?? 1) <= 64;

const check = (vector: Vector): unknown => {
  const policy = createPolicy(settingsOf(vector), { selfHosts: () => vector.config?.selfHosts ?? [] });
  return checkUrl(vector.url, policy);
};

it('is complete', () => {
  expect(VECTORS).toHaveLength(451);
  expect(VECTORS.filter(isWrongAsText).length).toBeGreaterThan(200);
});

describe('the text of an address', () => {
  const urls = vectorsOf('url');
  it.each(urls.filter(({ verdict }) => verdict === 'allow'))('$id is let through: $why', (vector) => {
    expect(() => check(vector)).not.toThrow();
  });

  it.each(urls.filter(isWrongAsText))('$id is refused: $why', (vector) => {
    expect(() => check(vector)).toThrow(expect.objectContaining({ code: 'egress_denied' }));
  });
});
