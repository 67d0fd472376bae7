// Where the people of one server sign in, out of what its admin pinned and what the servers say. What is
// pinned wins; what is discovered has to hold.
import type { SignInPlace } from '../../credential/authorization-server.ts';
import { ProxyError } from '../../shared/errors.ts';
import { addressProblem, type MayUseHttp } from './address.ts';
import type { Challenge } from './challenge.ts';
import type { ReadDocument } from './documents.ts';
import type { Pins } from './pins.ts';
import { canonicalResource, type Finding, findProtectedResource } from './protected-resource.ts';
import {
  findServerMetadata,
  metadataAddresses,
  originIssuers,
  type ServerMetadata,
  unsafe,
} from './server-metadata.ts';

export interface PlaceQuestion {
  /** Undefined for a command: then everything has to be pinned. */
  readonly serverUrl: string | undefined;
  readonly pins: Pins;
  readonly challenge: Challenge;
  readonly read: ReadDocument;
  readonly mayUseHttp: MayUseHttp;
}

export async function findSignInPlace(question: PlaceQuestion): Promise<SignInPlace> {
  const { pins, challenge } = question;
  checkPins(question);
  if (pins.areEnough) return pinnedPlace(question);
  const finding = await findResource(question);
  const metadata = await findMetadata(question, finding);
  if (pins.needsCode) requirePkce(metadata, pins);
  const found = finding.kind === 'found' ? finding.resource : undefined;
  return {
    ...placeOf(metadata, pins),
    resource: pins.resource ?? found?.resource ?? ownResource(question),
    scopes: challenge.scopes.length > 0 ? challenge.scopes : (found?.scopes ?? []),
  };
}

/** The admin's word is not believed blindly either: a file may have been copied from a test set-up. */
function checkPins({ pins, mayUseHttp }: PlaceQuestion): void {
  for (const field of ['issuer', 'authorizationEndpoint', 'tokenEndpoint'] as const) {
    const address = pins[field];
    const problem = address === undefined ? undefined : addressProblem(address, mayUseHttp);
    if (problem !== undefined) throw unsafe(field, problem);
  }
}

/**
 * Nothing is asked. There is no metadata that could speak about PKCE; pinning both endpoints is the
 * admin's word for it, and S256 is sent in any case (RFC 7636 §5: who does not know it ignores it).
 */
function pinnedPlace(question: PlaceQuestion): SignInPlace {
  const { pins, challenge } = question;
  const authorizationEndpoint = pins.authorizationEndpoint ?? '';
  const tokenEndpoint = pins.tokenEndpoint ?? '';
  return {
    issuer: pins.issuer ?? new URL(authorizationEndpoint || tokenEndpoint).origin,
    authorizationEndpoint,
    tokenEndpoint,
    registrationEndpoint: undefined,
    revocationEndpoint: undefined,
    takesMetadataDocument: false,
    answersWithIssuer: false,
    tokenAuthMethods: undefined,
    resource: pins.resource ?? ownResource(question),
    scopes: challenge.scopes,
    offersOfflineAccess: false,
  };
}

async function findResource({ serverUrl, pins, challenge, read }: PlaceQuestion): Promise<Finding> {
  if (serverUrl === undefined) return { kind: 'none', asked: [] };
  return findProtectedResource({
    serverUrl,
    candidates: challenge.metadataUrls,
    pinnedResource: pins.resource,
    read,
  });
}

/** The first authorization server that speaks for itself: a document may name several (RFC 9728 §2). */
async function findMetadata(question: PlaceQuestion, finding: Finding): Promise<ServerMetadata> {
  const { pins } = question;
  const named = finding.kind === 'found' ? finding.resource.authorizationServers : [];
  const issuers = pins.issuer === undefined ? named : [pins.issuer];
  if (issuers.length === 0) return findOwnMetadata(question, finding);
  const asked: string[] = [];
  for (const issuer of issuers) {
    requireIssuer(issuer, question.mayUseHttp);
    const answer = await findServerMetadata({ ...question, addresses: metadataAddresses(issuer), issuers: [issuer] });
    if (answer.kind === 'found') return answer.metadata;
    asked.push(...answer.asked);
  }
  throw new ProxyError(
    'upstream_protocol',
    `No authorization server of this server publishes metadata of its own: ${asked.join(', ')}. ${HOW}`,
  );
}

/** A server that names no issuer is its own, as of revision 2025-03-26 (§authorization, metadata discovery). */
async function findOwnMetadata(question: PlaceQuestion, finding: Finding): Promise<ServerMetadata> {
  const { serverUrl } = question;
  if (serverUrl === undefined) throw nothingSaid([]);
  const issuers = originIssuers(serverUrl);
  const answer = await findServerMetadata({ ...question, addresses: metadataAddresses(issuers[0]), issuers });
  if (answer.kind === 'found') return answer.metadata;
  throw nothingSaid([...(finding.kind === 'none' ? finding.asked : []), ...answer.asked]);
}

const HOW = 'An admin can set "issuer", or "authorizationEndpoint" and "tokenEndpoint", in credential.oauth.';

function nothingSaid(asked: readonly string[]): ProxyError {
  const where = asked.length === 0 ? '' : ` Asked: ${asked.join(', ')}.`;
  return new ProxyError('upstream_protocol', `The server offers no sign-in that can be found.${where} ${HOW}`);
}

function requireIssuer(issuer: string, mayUseHttp: MayUseHttp): void {
  const problem = addressProblem(issuer, mayUseHttp) ?? (issuer.includes('?') ? 'has a query' : undefined);
  if (problem !== undefined) throw unsafe('authorization_servers', problem);
}

/** T5: a server that does not say S256 may ignore the challenge, and a stolen code would be enough. */
function requirePkce({ pkceMethods }: ServerMetadata, pins: Pins): void {
  if (pins.allowMissingPkceMetadata || pkceMethods?.includes('S256') === true) return;
  const what = pkceMethods === undefined ? 'does not say that it checks PKCE' : 'does not offer PKCE with S256';
  throw new ProxyError(
    'upstream_protocol',
    `The authorization server ${what}. If it is known to, an admin can set "allowMissingPkceMetadata" in credential.oauth.`,
  );
}

function placeOf(metadata: ServerMetadata, pins: Pins): Omit<SignInPlace, 'resource' | 'scopes'> {
  const authorizationEndpoint = pins.authorizationEndpoint ?? metadata.authorizationEndpoint;
  const tokenEndpoint = pins.tokenEndpoint ?? metadata.tokenEndpoint;
  if (tokenEndpoint === undefined) throw unsafe('token_endpoint', 'is missing');
  if (authorizationEndpoint === undefined && pins.needsCode) throw unsafe('authorization_endpoint', 'is missing');
  return {
    issuer: metadata.issuer,
    authorizationEndpoint: authorizationEndpoint ?? '',
    tokenEndpoint,
    registrationEndpoint: metadata.registrationEndpoint,
    revocationEndpoint: metadata.revocationEndpoint,
    takesMetadataDocument: metadata.takesMetadataDocument,
    answersWithIssuer: metadata.answersWithIssuer,
    tokenAuthMethods: metadata.tokenAuthMethods,
    offersOfflineAccess: metadata.scopes.includes('offline_access'),
  };
}

function ownResource({ serverUrl }: PlaceQuestion): string {
  if (serverUrl !== undefined) return canonicalResource(serverUrl);
  throw new ProxyError('upstream_protocol', 'A command has no address: set "resource" in credential.oauth.');
}
