// The OpenAPI 3.1 document of the admin API, written by hand and compared with the routes by a test.
import { schemas } from './openapi-schemas.ts';

type Json = Readonly<Record<string, unknown>>;

interface Operation {
  readonly id: string;
  readonly summary: string;
  readonly operatorOnly?: true;
  /** Query parameters by name, with their meaning. */
  readonly query?: Readonly<Record<string, string>>;
  /** Names of schemas. */
  readonly body?: string;
  readonly status: 200 | 201 | 204;
  readonly answer?: string;
}

const PAGED = { cursor: '`nextCursor` of the last answer.', limit: '1 to 500, 100 when left out.' };

const TENANT = '/tenants/{tenant}';
const SERVER = `${TENANT}/servers/{name}`;

const OPERATIONS: Readonly<Record<string, Readonly<Record<string, Operation>>>> = {
  '/tenants': {
    get: {
      id: 'listTenants',
      summary: 'List tenants',
      operatorOnly: true,
      query: PAGED,
      status: 200,
      answer: 'TenantList',
    },
    post: {
      id: 'createTenant',
      summary: 'Create a tenant',
      operatorOnly: true,
      body: 'NewTenant',
      status: 201,
      answer: 'Tenant',
    },
  },
  [TENANT]: {
    get: { id: 'getTenant', summary: 'Read a tenant', status: 200, answer: 'Tenant' },
    patch: {
      id: 'changeTenant',
      summary: 'Change the members that are sent',
      body: 'TenantChange',
      status: 200,
      answer: 'Tenant',
    },
    delete: { id: 'removeTenant', summary: 'Remove a tenant with everything it has', operatorOnly: true, status: 204 },
  },
  [`${TENANT}/issuers`]: {
    get: {
      id: 'listIssuers',
      summary: 'List the issuers whose tokens are accepted',
      query: PAGED,
      status: 200,
      answer: 'IssuerList',
    },
    post: { id: 'addIssuer', summary: 'Add an issuer, or replace it', body: 'Issuer', status: 201, answer: 'Issuer' },
    put: { id: 'putIssuer', summary: 'Add an issuer, or replace it', body: 'Issuer', status: 200, answer: 'Issuer' },
    delete: {
      id: 'removeIssuer',
      summary: 'Accept its tokens no more',
      query: { issuer: 'Which one. Required.' },
      status: 204,
    },
  },
  [`${TENANT}/keys`]: {
    get: {
      id: 'listKeys',
      summary: 'List agent keys, without the keys themselves',
      query: PAGED,
      status: 200,
      answer: 'KeyList',
    },
    post: {
      id: 'createKey',
      summary: 'Create an agent key; it is shown this once',
      body: 'NewKey',
      status: 201,
      answer: 'CreatedKey',
    },
  },
  [`${TENANT}/keys/{id}`]: {
    delete: { id: 'removeKey', summary: 'End an agent key', status: 204 },
  },
  [`${TENANT}/servers`]: {
    get: {
      id: 'listServers',
      summary: 'List servers and how they stand',
      query: PAGED,
      status: 200,
      answer: 'ServerList',
    },
  },
  [SERVER]: {
    get: { id: 'getServer', summary: 'Read a server and how it stands', status: 200, answer: 'Server' },
    put: {
      id: 'putServer',
      summary: 'Register a server, or replace its definition',
      body: 'Definition',
      status: 200,
      answer: 'Server',
    },
    delete: { id: 'removeServer', summary: 'Remove a server with its tools and credentials', status: 204 },
  },
  [`${SERVER}/credentials/{principal}`]: {
    put: {
      id: 'keepCredential',
      summary: "Keep a person's key, or take over their grant",
      body: 'NewCredential',
      status: 200,
      answer: 'Credential',
    },
    delete: {
      id: 'removeCredential',
      summary: "Forget a person's key; a grant is revoked where it came from",
      status: 204,
    },
  },
  [`${SERVER}/credential`]: {
    put: {
      id: 'keepTenantCredential',
      summary: "Keep the tenant's own key",
      body: 'NewCredential',
      status: 200,
      answer: 'Credential',
    },
    delete: { id: 'removeTenantCredential', summary: "Forget the tenant's own key", status: 204 },
  },
  [`${TENANT}/credentials`]: {
    get: {
      id: 'listCredentials',
      summary: 'Who has a key or grant for what',
      query: PAGED,
      status: 200,
      answer: 'StoredCredentialList',
    },
  },
  [`${TENANT}/connections`]: {
    get: {
      id: 'listConnections',
      summary: 'What is connected on this node now',
      query: PAGED,
      status: 200,
      answer: 'ConnectionList',
    },
  },
  [`${TENANT}/connections/{id}`]: {
    delete: { id: 'endConnection', summary: 'End a connection once its calls are done', status: 204 },
  },
  '/vault': {
    get: {
      id: 'getVault',
      summary: 'Which master keys there are, and how many stored keys each wraps',
      operatorOnly: true,
      status: 200,
      answer: 'Vault',
    },
  },
  [`${TENANT}/rotate-key`]: {
    post: {
      id: 'rotateKey',
      summary: 'Make a new data key for the tenant; what is stored is sealed anew in the background',
      status: 200,
      answer: 'DataKeyList',
    },
  },
  [`${TENANT}/data-keys`]: {
    get: {
      id: 'listDataKeys',
      summary: "The tenant's data keys, and how many rows each seals",
      status: 200,
      answer: 'DataKeyList',
    },
    delete: {
      id: 'shredTenant',
      summary: 'Delete all data keys of the tenant: what they sealed is lost for ever',
      operatorOnly: true,
      status: 204,
    },
  },
  [`${TENANT}/connect-links`]: {
    post: {
      id: 'createConnectLink',
      summary: 'Make a link at which a person signs in',
      body: 'NewConnectLink',
      status: 201,
      answer: 'ConnectLink',
    },
  },
};

export const openApiDocument: Json = {
  openapi: '3.1.0',
  info: { title: 'Keybearer admin API', version: '1', description: 'Every refusal is a problem document (RFC 9457).' },
  servers: [{ url: '/admin/v1' }],
  security: [{ bearer: [] }],
  paths: {
    ...Object.fromEntries(Object.entries(OPERATIONS).map(([path, operations]) => [path, toPathItem(path, operations)])),
    '/openapi.json': {
      get: {
        operationId: 'getOpenApi',
        summary: 'This document',
        security: [],
        responses: { 200: { description: 'OK', content: { 'application/json': { schema: { type: 'object' } } } } },
      },
    },
  },
  components: {
    securitySchemes: {
      bearer: {
        type: 'http',
        scheme: 'bearer',
        description: "The operator's key, or an agent key with the scope admin:{tenant} for its own tenant.",
      },
    },
    schemas,
  },
};

function toPathItem(path: string, operations: Readonly<Record<string, Operation>>): Json {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  return {
    parameters: inPath,
    ...Object.fromEntries(Object.entries(operations).map(([method, operation]) => [method, toOperation(operation)])),
  };
}

function toOperation({ id, summary, operatorOnly, query = {}, body, status, answer }: Operation): Json {
  const parameters = Object.entries(query).map(([name, description]) => ({
    name,
    in: 'query',
    description,
    required: name === 'issuer',
    schema: { type: 'string' },
  }));
  return {
    operationId: id,
    summary,
    ...(operatorOnly ? { description: "The operator's key only." } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { 'application/json': { schema: refTo(body) } } } }),
    responses: {
      [status]:
        answer === undefined
          ? { description: 'Done' }
          : { description: 'OK', content: { 'application/json': { schema: refTo(answer) } } },
      default: { description: 'Refused', content: { 'application/problem+json': { schema: refTo('Problem') } } },
    },
  };
}

function refTo(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}
