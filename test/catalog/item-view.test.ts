// Items of several servers as one list: each under a name of its own, which finds its way back.
import { describe, expect, it } from 'vitest';
import { tellApart, toldApart, viewItems } from '../../src/catalog/item-view.ts';
import { ITEMS } from '../../src/catalog/list-kind.ts';
import type { UpstreamServer } from '../../src/catalog/upstream-server.ts';
import { serverOf, URL_ONLY } from './read-definition.ts';

const named = (name: string, prefix = name): UpstreamServer => ({ ...serverOf(URL_ONLY), name, prefix });
const [A, B, C] = [named('a'), named('b'), named('c', 'a')];
const all = (): boolean => true;
const texts = (...items: readonly unknown[]): readonly string[] => items.map((item) => JSON.stringify(item));

describe('prompts of several servers', () => {
  const view = viewItems(
    ITEMS.prompts,
    [A, B, C],
    [
      {
        server: A,
        items: texts({ name: 'z', title: 'Z', 'x-own': [1] }, { name: 'greet' }, { name: 'greet', title: 'again' }),
      },
      { server: B, items: texts({ name: 'greet' }, { name: 'has blanks' }) },
      { server: C, items: texts({ name: 'greet' }) },
    ],
    all,
  );

  it('have the prefix of their server, and are in the order of their names', () => {
    expect([...view.keys()]).toEqual([
      'a__greet',
      expect.stringMatching(/^a__greet-\w{8}$/),
      'a__z',
      'b__greet',
      expect.stringMatching(/^b__has_blanks-\w{8}$/),
    ]);
  });

  it('lead back to the server and its own name', () => {
    expect([...view.values()].map(({ server, own }) => `${server.name} ${own}`)).toEqual([
      'a greet',
      'c greet',
      'a z',
      'b greet',
      'b has blanks',
    ]);
  });

  it('keep all else that is said of them', () => {
    expect(JSON.parse(view.get('a__z')?.json ?? '')).toEqual({ name: 'a__z', title: 'Z', 'x-own': [1] });
    expect(JSON.parse(view.get('a__greet')?.json ?? ''), 'the first of two').toEqual({ name: 'a__greet' });
  });
});

describe('resources of several servers', () => {
  const view = viewItems(
    ITEMS.resources,
    [A, B],
    [
      { server: A, items: texts({ uri: 'file:///x', name: 'x' }, { uri: tellApart('b', 'file:///x') }) },
      { server: B, items: texts({ uri: 'file:///x', name: 'other' }, { uri: 'file:///y', size: 1e21 }) },
    ],
    all,
  );

  it('keep their URIs, and of two the second is told apart', () => {
    expect([...view].map(([uri, { server, own }]) => [uri, server.name, own])).toEqual([
      ['file:///x', 'a', 'file:///x'],
      ['keybearer://a/keybearer://b/file:///x', 'a', 'keybearer://b/file:///x'],
      ['keybearer://b/file:///x', 'b', 'file:///x'],
      ['file:///y', 'b', 'file:///y'],
    ]);
  });

  it("of a prefix are the first server's, also while that one is down", () => {
    const view = viewItems(ITEMS.prompts, [A, C], [{ server: C, items: texts({ name: 'greet' }) }], all);
    expect([...view.keys()]).toEqual([expect.stringMatching(/^a__greet-\w{8}$/)]);
  });

  it('without a key, or with one that is no text, are left out', () => {
    const items = [...texts({ name: 'x' }, { uri: 7 }, { uri: '' }, null, [], 'x'), '{"uri":"u"}'];
    expect([...viewItems(ITEMS.resources, [A], [{ server: A, items }], all).keys()]).toEqual(['u']);
  });

  it('that are not offered take no place', () => {
    const lists = [
      { server: A, items: texts({ uri: 'u' }) },
      { server: B, items: texts({ uri: 'u' }) },
    ];
    const offered = viewItems(ITEMS.resources, [A, B], lists, (server) => server === B);
    expect([...offered.values()].map(({ server, exposed }) => [server.name, exposed])).toEqual([['b', 'u']]);
  });
});

describe('a URI that is told apart', () => {
  it.each(['file:///x', 'test://t/{id}?q={+a}#b', 'a/b/c', 'keybearer://c/x', '%41 é'])('holds %s as it is', (own) =>
    expect(toldApart(tellApart('b', own))).toEqual({ serverName: 'b', own }),
  );

  it.each(['keybearer://', 'keybearer://b', 'keybearer://b/', 'keybearer:/b/x', 'file:///b/x', ''])(
    'is not %s',
    (uri) => expect(toldApart(uri)).toBeUndefined(),
  );
});
