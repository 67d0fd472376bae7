// What is sealed anew is no change of a definition, also where several nodes seal it anew at the same moment.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createSealedRowsStore } from '../../src/store/sealed-rows.ts';
import { addServer, tenantId } from './open-store.ts';
import { openTwoNodes, type TwoNodes } from './two-nodes.ts';

const acme = tenantId('acme');
let nodes: TwoNodes;
beforeAll(async () => {
  nodes = await openTwoNodes();
});
afterAll(() => nodes.close());

const theDefinition = async (name: string) => {
  const rows = await createSealedRowsStore(nodes.next()).listDefinitions(acme, '', 50);
  const row = rows.find((one) => one.name === name);
  if (row === undefined) throw new Error(`no definition of ${name}`);
  return row;
};

it('keeps the revision of a definition that nodes seal anew at once, one after another and again', async () => {
  await addServer(nodes.databases[0], acme, 'notes');
  const before = await theDefinition('notes');
  const anew = (n: number) => ({
    type: 'http',
    url: 'https://notes.example/mcp',
    headers: { 'x-team': { sealed: `${n}` } },
  });
  for (let turn = 0; turn < 5; turn += 1) {
    const done = nodes.databases.map((database, at) =>
      createSealedRowsStore(database).replaceDefinition(acme, before, anew(2 * turn + at)),
    );
    expect(await Promise.all(done)).toEqual([true, true]);
    const after = await theDefinition('notes');
    expect(after.revision).toBe(before.revision);
    expect([anew(2 * turn), anew(2 * turn + 1)]).toContainEqual(after.definition);
  }
});

it('does not put it over a definition that was changed meanwhile', async () => {
  await addServer(nodes.databases[0], acme, 'edited');
  const before = await theDefinition('edited');
  const changed = { type: 'http', url: 'https://elsewhere.example/mcp' };
  await nodes.admin.query("UPDATE servers SET definition = $1 WHERE name = 'edited'", [JSON.stringify(changed)]);
  expect(await createSealedRowsStore(nodes.next()).replaceDefinition(acme, before, { type: 'http' })).toBe(false);
  expect((await theDefinition('edited')).definition).toEqual(changed);
});
