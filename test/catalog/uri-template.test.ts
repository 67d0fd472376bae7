// Which URIs may come from a template: those that filling it in gives, and whatever strangers write, soon.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { comesFrom } from '../../src/catalog/uri-template.ts';

describe('a URI comes from a template', () => {
  it.each([
    ['test://template/{id}/data', 'test://template/7/data'],
    ['test://template/{id}/data', 'test://template//data'],
    ['file:///{+path}', 'file:///a/b/c.txt'],
    ['file://{/folders*}/x', 'file:///a/b/x'],
    ['https://h/search{?q,lang}', 'https://h/search?q=a/b&lang=de'],
    ['https://h/{a}{b}', 'https://h/ab'],
    ['https://h/{a}-{b}-{c}.md', 'https://h/1-2-3-4.md'],
    ['{scheme}:rest', 'x:rest'],
    ['{+all}', 'anything://at/all'],
    ['a{#frag}z', 'a#/z/z'],
  ])('%s gives %s', (template, uri) => expect(comesFrom(uri, template)).toBe(true));

  it.each([
    ['test://template/{id}/data', 'test://template/7/8/data'],
    ['test://template/{id}/data', 'test://template/7'],
    ['test://template/{id}/data', 'test://other/7/data'],
    ['test://template/{id}', 'test://template/7/data'],
    ['test://template/{id}', 'xtest://template/7'],
    ['test://plain', 'test://plain'],
    ['ab{x}ba', 'aba'],
    ['{id}', 'a/b'],
  ])('%s does not give %s', (template, uri) => expect(comesFrom(uri, template)).toBe(false));

  it('is said of everything that simple expansion gives', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', '.', '-', '/', ':'), maxLength: 6 });
    const value = fc.string({ unit: fc.constantFrom('a', 'b', '1', '-', '%20'), minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(word, fc.array(fc.tuple(value, word), { minLength: 1, maxLength: 5 }), (first, parts) => {
        const template = first + parts.map(([, text]) => `{v}${text}`).join('');
        expect(comesFrom(first + parts.map(([filled, text]) => filled + text).join(''), template)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is told soon, whatever it is made of', () => {
    const template = '{a}a'.repeat(2_000);
    const began = performance.now();
    expect(comesFrom(`${'a'.repeat(20_000)}b`, template)).toBe(false);
    expect(comesFrom('/'.repeat(20_000), '{+a}{+b}'.repeat(2_000))).toBe(true);
    expect(performance.now() - began).toBeLessThan(1_000);
  });
});
