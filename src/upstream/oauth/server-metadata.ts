// Reads an issuer's metadata (RFC 8414, OpenID Connect Discovery) and believes it only if it was written
// for that very issuer, compared as text: metadata of a foreign one would send codes elsewhere (T2, B166).
import { ProxyError } from '../../shared/errors.ts';
import type { JsonObject } from '../../wire/reply.ts';
import { addressProblem, type MayUseHttp } from './address.ts';
import { readScopes } from './challenge.ts';
import { type ReadDocument, readText, readTexts, showAsked } from './documents.ts';

const OAUTH = '/.well-known/oauth-authorization-server';
const OIDC = '/.well-known/openid-configuration';

export interface ServerMetadata {
  readonly issuer: string;
  readonly authorizationEndpoint: string | undefined;
  readonly tokenEndpoint: string | undefined;
  readonly registrationEndpoint: string | undefined;
  readonly revocationEndpoint: string | undefined;
  readonly jwksUri: string | undefined;
  readonly takesMetadataDocument: boolean;
  readonly answersWithIssuer: boolean;
  readonly tokenAuthMethods: readonly string[] | undefined;
  readonly pkceMethods: readonly string[] | undefined;
  readonly scopes: readonly string[];
  readonly idTokenAlgorithms: readonly string[] | undefined;
}

/** Where an issuer's metadata may be, in the order of 2026-07-28 §authorization. */
export function metadataAddresses(issuer: string): readonly string[] {
  const { origin, path } = partsOf(issuer);
  const inserted = [`${origin}${OAUTH}${path}`, `${origin}${OIDC}${path}`];
  return path === '' ? inserted : [...inserted, `${origin}${path}${OIDC}`];
}

/** OpenID Connect Discovery §4.1: the one address of identity providers. */
export function openIdAddress(issuer: string): string {
  const { origin, path } = partsOf(issuer);
  return `${origin}${path}${OIDC}`;
}

function partsOf(issuer: string): { readonly origin: string; readonly path: string } {
  const { origin, pathname } = new URL(issuer);
  return { origin, path: pathname.replace(/\/$/, '') };
}

export interface MetadataQuestion {
  readonly addresses: readonly string[];
  /** One, but where the issuer was not named by anybody; see `originIssuers`. */
  readonly issuers: readonly string[];
  readonly read: ReadDocument;
  readonly mayUseHttp: MayUseHttp;
}

/** For servers that name no issuer (2025-03-26): their origin, in both ways an origin is written. */
export const originIssuers = (serverUrl: string): readonly [string, string] => {
  const { origin } = new URL(serverUrl);
  return [origin, `${origin}/`];
};

export type MetadataFinding =
  | { readonly kind: 'found'; readonly metadata: ServerMetadata }
  | { readonly kind: 'none'; readonly asked: readonly string[] };

/** Throws `upstream_unavailable` while it may be there but does not come, `upstream_protocol` when it is unsafe. */
export async function findServerMetadata(question: MetadataQuestion): Promise<MetadataFinding> {
  const asked: string[] = [];
  let isUnavailable = false;
  for (const address of question.addresses) {
    const reading = await question.read(address);
    if (reading.kind === 'document') {
      const issuer = readText(reading.json['issuer']);
      if (issuer !== undefined && question.issuers.includes(issuer))
        return { kind: 'found', metadata: readMetadata(reading.json, issuer, question.mayUseHttp) };
    }
    isUnavailable ||= reading.kind === 'unavailable';
    asked.push(showAsked(address, reading.kind === 'document' ? 'names another issuer' : reading.why));
  }
  if (isUnavailable)
    throw new ProxyError(
      'upstream_unavailable',
      `The authorization server does not give its metadata now: ${asked.join(', ')}. Try again in a moment.`,
    );
  return { kind: 'none', asked };
}

function readMetadata(json: JsonObject, issuer: string, mayUseHttp: MayUseHttp): ServerMetadata {
  const endpoint = (field: string): string | undefined => {
    const address = readText(json[field]);
    const problem = address === undefined ? undefined : addressProblem(address, mayUseHttp);
    if (problem !== undefined) throw unsafe(field, problem);
    return address;
  };
  return {
    issuer,
    authorizationEndpoint: endpoint('authorization_endpoint'),
    tokenEndpoint: endpoint('token_endpoint'),
    registrationEndpoint: endpoint('registration_endpoint'),
    revocationEndpoint: endpoint('revocation_endpoint'),
    jwksUri: endpoint('jwks_uri'),
    takesMetadataDocument: json['client_id_metadata_document_supported'] === true,
    answersWithIssuer: json['authorization_response_iss_parameter_supported'] === true,
    tokenAuthMethods: readTexts(json['token_endpoint_auth_methods_supported']),
    pkceMethods: readTexts(json['code_challenge_methods_supported']),
    scopes: readScopes(readTexts(json['scopes_supported'])?.join(' ')),
    idTokenAlgorithms: readTexts(json['id_token_signing_alg_values_supported']),
  };
}

/** Not repaired: what was published for http may be meant for another service than the one behind TLS (B141). */
export function unsafe(field: string, problem: string): ProxyError {
  return new ProxyError('upstream_protocol', `The sign-in cannot be used: "${field}" ${problem}.`);
}
