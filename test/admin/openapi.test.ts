import { describe, expect, it } from 'vitest';
import { openApiDocument } from '../../src/admin/openapi.ts';
import { adminRoutes } from '../../src/admin/routes.ts';
import { openAdminApi } from './an-admin-api.ts';

type Node = Readonly<Record<string, unknown>>;
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const paths = openApiDocument['paths'] as Readonly<Record<string, Node>>;
const documented = Object.entries(paths).flatMap(([path, item]) =>
  Object.keys(item)
    .filter((name) => METHODS.includes(name))
    .map((method) => `${method} ${path}`),
);

const ROUTES = [
  'get /tenants',
  'post /tenants',
  'get /tenants/{tenant}',
  'patch /tenants/{tenant}',
  'delete /tenants/{tenant}',
  'get /tenants/{tenant}/issuers',
  'post /tenants/{tenant}/issuers',
  'put /tenants/{tenant}/issuers',
  'delete /tenants/{tenant}/issuers',
  'get /tenants/{tenant}/keys',
  'post /tenants/{tenant}/keys',
  'delete /tenants/{tenant}/keys/{id}',
  'get /tenants/{tenant}/servers',
  'get /tenants/{tenant}/servers/{name}',
  'put /tenants/{tenant}/servers/{name}',
  'delete /tenants/{tenant}/servers/{name}',
  'put /tenants/{tenant}/servers/{name}/credentials/{principal}',
  'delete /tenants/{tenant}/servers/{name}/credentials/{principal}',
  'put /tenants/{tenant}/servers/{name}/credential',
  'delete /tenants/{tenant}/servers/{name}/credential',
  'get /tenants/{tenant}/credentials',
  'get /tenants/{tenant}/connections',
  'delete /tenants/{tenant}/connections/{id}',
  'post /tenants/{tenant}/connect-links',
  'get /vault',
  'post /tenants/{tenant}/rotate-key',
  'get /tenants/{tenant}/data-keys',
  'delete /tenants/{tenant}/data-keys',
];

function refsIn(node: unknown): readonly string[] {
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([name, value]) => (name === '$ref' ? [String(value)] : refsIn(value)));
}

describe('the OpenAPI document', () => {
  it('has every route of the API, and no other', async () => {
    await using api = await openAdminApi();
    const routes = adminRoutes(api.deps).map(({ method, path }) => `${method} ${path}`);
    expect(routes.toSorted()).toEqual(ROUTES.toSorted());
    expect(documented.toSorted()).toEqual([...ROUTES, 'get /openapi.json'].toSorted());
  });

  it('marks as for the operator only what is', async () => {
    await using api = await openAdminApi();
    for (const { method, path, access } of adminRoutes(api.deps)) {
      const operation = paths[path]?.[method] as Node | undefined;
      expect([path, method, operation?.['description'] === "The operator's key only."]).toEqual([
        path,
        method,
        access === 'operator',
      ]);
    }
  });

  it('refers only to what it defines, defines only what it refers to, and names each operation once', () => {
    const { schemas } = openApiDocument['components'] as { schemas: Node };
    const used = new Set(refsIn(openApiDocument).map((ref) => ref.slice('#/components/schemas/'.length)));
    expect([...used].toSorted()).toEqual(Object.keys(schemas).toSorted());
    const ids = Object.values(paths).flatMap((item) =>
      METHODS.flatMap((method) => (item[method] as Node | undefined)?.['operationId'] ?? []),
    );
    expect(new Set(ids).size).toBe(documented.length);
  });

  it('names every parameter of a path', () => {
    for (const [path, item] of Object.entries(paths)) {
      const named = ((item['parameters'] ?? []) as Node[]).map(({ name }) => `{${String(name)}}`);
      expect([path, path.match(/\{\w+\}/g) ?? []]).toEqual([path, named]);
    }
  });

  it('can be read without a key', async () => {
    await using api = await openAdminApi();
    const reply = await api.send('GET', '/openapi.json', undefined, { key: undefined });
    expect([reply.status, reply.json]).toEqual([200, openApiDocument]);
  });
});
