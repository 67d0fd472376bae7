// The shapes of the admin API's JSON, for its OpenAPI document.
import { limitsDocument } from './limits.ts';

type Schema = Readonly<Record<string, unknown>>;

const text = { type: 'string' };
const textOrNull = { type: ['string', 'null'] };
const time = { type: 'string', format: 'date-time' };
const timeOrNull = { type: ['string', 'null'], format: 'date-time' };
const texts = { type: 'array', items: text };
const url = { type: 'string', format: 'uri' };

const object = (properties: Schema, required: readonly string[] = Object.keys(properties)): Schema => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
const listOf = (name: string): Schema =>
  object({ items: { type: 'array', items: { $ref: `#/components/schemas/${name}` } }, nextCursor: text }, ['items']);

const secretText = {
  description: 'Shown as { "sealed": true }; sent back like that, what is stored is kept.',
  oneOf: [text, object({ sealed: { const: true } })],
};

const signIn = {
  description: "How the tenant's people prove who they are in a browser.",
  oneOf: [
    object({ mode: { const: 'link' } }),
    object({ mode: { const: 'handoff' }, verifyUrl: url, key: secretText }),
    object({ mode: { const: 'oidc' }, issuer: url, clientId: text, clientSecret: secretText, principalClaim: text }, [
      'mode',
      'issuer',
      'clientId',
    ]),
  ],
};

const gatedDefault = {
  description: 'Which tools need a person to approve, where a server does not say.',
  oneOf: [{ type: 'boolean' }, texts, { enum: ['not-read-only', 'destructive'] }],
};

const settings = {
  name: text,
  signIn,
  gatedDefault,
  limits: limitsDocument,
};

const principals = { description: '"*" is anyone of the tenant.', oneOf: [{ const: '*' }, texts] };

const issuer = {
  issuer: text,
  jwksUri: url,
  jwks: { type: 'object', properties: { keys: { type: 'array', items: { type: 'object' } } }, required: ['keys'] },
  audience: text,
  principalClaim: { type: 'string', default: 'sub' },
  tenantClaim: {
    ...textOrNull,
    description: "Needed when tenants share an issuer: a claim that holds the tenant's id.",
  },
  algorithms: texts,
};

const problems = {
  type: 'array',
  items: object({ path: { type: 'string', description: 'JSON path into what was sent.' }, message: text }),
};

const owner = { owner: { enum: ['principal', 'tenant'] }, principal: textOrNull };

const server = {
  name: text,
  revision: text,
  enabled: { type: 'boolean' },
  source: { enum: ['table', 'file'], description: "Those of the operator's file are read-only here." },
  status: { enum: ['ok', 'cached', 'sign_in_required', 'unavailable', 'invalid', 'disabled', 'pending'] },
  reason: textOrNull,
  toolCount: { type: 'integer' },
  lastError: { ...textOrNull, description: 'What went wrong last, as the node that answers knows it.' },
  lastErrorAt: timeOrNull,
  redirectUri: { type: 'string', format: 'uri', description: 'Kind oauth: to register at the sign-in server.' },
  problems,
  definition: { $ref: '#/components/schemas/Definition' },
};

const key = {
  id: text,
  name: text,
  principal: textOrNull,
  mayActFor: principals,
  scopes: texts,
  expiresAt: timeOrNull,
  createdAt: time,
};

const credential = {
  server: textOrNull,
  ...owner,
  kind: { enum: ['secret', 'oauth', 'client_credentials', 'token_exchange'] },
  version: text,
  updatedAt: time,
};

/** Of tokens; nothing of the kind is known of a key. */
const grantDetails = {
  issuer: { ...text, description: 'The sign-in server that gave the tokens. This and the next three: of tokens only.' },
  scopes: { ...texts, description: 'What was asked for.' },
  expiresAt: { ...timeOrNull, description: 'Of the access token; null when that is not known.' },
  renewable: { type: 'boolean', description: 'False: its person signs in again when it ends.' },
};

const storedCredential = {
  ...credential,
  usable: {
    type: 'boolean',
    description: 'False when the server has moved since, and the person has to sign in again.',
  },
};

export const schemas: Readonly<Record<string, Schema>> = {
  Problem: {
    ...object({ type: text, title: text, status: { type: 'integer' }, detail: text, problems }, [
      'type',
      'title',
      'status',
      'detail',
    ]),
    description: 'RFC 9457.',
  },
  Tenant: object({ id: text, ...settings }),
  NewTenant: object({ id: text, ...settings }, ['id']),
  TenantChange: object(settings, []),
  TenantList: listOf('Tenant'),
  Issuer: { ...object(issuer, ['issuer', 'audience']), description: 'Exactly one of jwksUri and jwks.' },
  IssuerList: listOf('Issuer'),
  NewKey: {
    ...object({ name: text, principal: textOrNull, mayActFor: principals, scopes: texts, expiresAt: timeOrNull }, [
      'name',
    ]),
    description: 'Either principal or mayActFor; neither for a key that is only for this API (scope admin:{tenant}).',
  },
  Key: object(key),
  CreatedKey: { ...object({ ...key, key: text }), description: 'The key itself is shown this once.' },
  KeyList: listOf('Key'),
  Definition: {
    type: 'object',
    description:
      'A server as in an `mcpServers` entry, with more members; see the reference. Literal secrets are shown as { "sealed": true }, and kept when sent back like that.',
  },
  Server: object(
    server,
    Object.keys(server).filter((name) => name !== 'problems'),
  ),
  ServerList: listOf('Server'),
  NewCredential: {
    description: 'Sealed at rest and never shown again.',
    oneOf: [
      object({ secret: { ...text, description: 'For kind "secret".' } }),
      object({
        oauth: {
          ...object(
            {
              accessToken: text,
              refreshToken: text,
              expiresIn: { type: 'number', minimum: 0, description: 'Seconds.' },
              scope: { ...text, description: 'Blanks apart.' },
            },
            ['accessToken'],
          ),
          description: 'For kind "oauth", and a person: tokens that were got elsewhere.',
        },
      }),
    ],
  },
  Credential: object(credential),
  StoredCredential: object({ ...storedCredential, ...grantDetails }, Object.keys(storedCredential)),
  StoredCredentialList: listOf('StoredCredential'),
  Connection: object({
    id: text,
    server: text,
    owner: { enum: ['principal', 'tenant', null] },
    principal: textOrNull,
    openedAt: time,
    inFlight: { type: 'integer' },
  }),
  ConnectionList: listOf('Connection'),
  NewConnectLink: object(
    {
      principal: text,
      servers: {
        ...texts,
        minItems: 1,
        maxItems: 1,
        description: 'May be left out when one server only waits for this person.',
      },
      returnTo: { ...url, description: 'Accepted, and not used in this version.' },
    },
    ['principal'],
  ),
  Vault: object({
    masterKeys: {
      type: 'array',
      items: object({
        id: text,
        isCurrent: { type: 'boolean' },
        isKnown: { type: 'boolean', description: 'False: it is given no more, and what it wraps cannot be opened.' },
        wraps: { type: 'integer' },
      }),
    },
  }),
  DataKeyList: object({
    items: {
      type: 'array',
      items: object({ id: text, isCurrent: { type: 'boolean' }, createdAt: time, seals: { type: 'integer' } }),
    },
  }),
  ConnectLink: object({ url, expiresAt: time, server: text }),
};
