// What each scenario of the suite is told about our side: how its server is registered with Keybearer, and
// under which address Keybearer is known. The suite gives the server and, to some, a client made beforehand.
import type { JsonObject } from '../test/support/upstreams/message.ts';

/** For a metadata document Keybearer has to have a public https address. */
const PUBLIC_URL = 'https://conformance-test.local';

/** The client id that `auth/basic-cimd` waits for: one that an admin would write into the definition. */
const DOCUMENT_OF_AN_ADMIN = `${PUBLIC_URL}/client-metadata.json`;

export interface Setting {
  readonly credential: JsonObject;
  /** Left out: loopback, where Keybearer listens. */
  readonly publicUrl?: string;
}

/** Runs whose result the requirements do not count, each with what it shows beside them. */
export interface Extra {
  readonly name: string;
  readonly scenario: string;
  readonly revision: string;
  readonly shows: string;
}

export const OWN_DOCUMENT = 'own-document';

export const EXTRAS: readonly Extra[] = [
  {
    name: OWN_DOCUMENT,
    scenario: 'auth/offline-access-scope',
    revision: '2026-07-28',
    shows:
      'behind a public https address Keybearer names its own metadata document as client id, and registers nowhere',
  },
  {
    name: 'client-credentials',
    scenario: 'auth/client-credentials-basic',
    revision: '2025-11-25',
    shows: 'a server that is reached with the tenant’s own client, without any person',
  },
  {
    name: 'own-issuer',
    scenario: 'auth/2025-03-26-oauth-metadata-backcompat',
    revision: '2025-03-26',
    shows: 'a server from before protected resource metadata, which is its own issuer',
  },
];

/** Scenarios of the suite that ask for what Keybearer does not do, in nobody's requirements. */
export const NOT_BUILT: Readonly<Record<string, string>> = {
  'auth/client-credentials-jwt': 'hands the client a private key; Keybearer signs with its own',
  'auth/enterprise-managed-authorization': 'identity assertion grants are not built',
  'auth/dpop': 'tokens bound to a key are not built',
  'auth/dpop-nonce': 'tokens bound to a key are not built',
  'auth/wif-jwt-bearer': 'workload identity is not built',
  'auth/2025-03-26-oauth-endpoint-fallback':
    'endpoints of servers that publish nothing are not guessed; an admin sets them',
};

export function settingFor(scenario: string, context: JsonObject, extra: string | undefined): Setting {
  const { client_id: clientId, client_secret: clientSecret, issuer } = context;
  if (extra === OWN_DOCUMENT) return { credential: { kind: 'oauth' }, publicUrl: PUBLIC_URL };
  switch (scenario) {
    case 'auth/basic-cimd':
      return { credential: { kind: 'oauth', oauth: { clientId: DOCUMENT_OF_AN_ADMIN } } };
    case 'auth/pre-registration':
      return { credential: { kind: 'oauth', oauth: { clientId, clientSecret, issuer } } };
    case 'auth/client-credentials-basic':
      return { credential: { kind: 'client_credentials', oauth: { clientId, clientSecret } } };
    default:
      return { credential: { kind: 'oauth' } };
  }
}
