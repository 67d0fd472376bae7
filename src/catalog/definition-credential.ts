// The part of a definition that says whose key is sent, of which kind, and where in the request it stands.
import { AUTHORIZATION_PARAMS } from '../shared/authorization-params.ts';
import { Secret } from '../shared/secret.ts';
import type { AddressRule } from './address-rule.ts';
import {
  fragmentProblem,
  helpProblem,
  lineProblem,
  oauthUrlProblem,
  scopeProblem,
  urlProblem,
  visibleTextProblem,
} from './definition-rules.ts';
import type { Shape } from './definition-shape.ts';
import type { TransportKind } from './definition-transport.ts';
import { envNameProblem } from './env-name.ts';
import { headerNameProblem, schemeProblem } from './header-name.ts';
import type { CredentialSpec } from './upstream-server.ts';

type Kind = CredentialSpec['kind'];
type Placement = Pick<CredentialSpec, 'header' | 'scheme' | 'env'>;

const KINDS: readonly Kind[] = ['oauth', 'secret', 'client_credentials', 'token_exchange'];
const MEMBERS = ['owner', 'kind', 'header', 'scheme', 'env', 'label', 'help', 'oauth'];
const MEANT = {
  type: 'kind',
  headerName: 'header',
  prefix: 'scheme',
  scopes: 'oauth.scopes',
  clientId: 'oauth.clientId',
  clientSecret: 'oauth.clientSecret',
  initialAccessToken: 'oauth.initialAccessToken',
};
const OAUTH_URLS = ['issuer', 'authorizationEndpoint', 'tokenEndpoint'] as const;
const OAUTH_MEMBERS = [
  'scopes',
  'clientId',
  'clientSecret',
  'initialAccessToken',
  ...OAUTH_URLS,
  'authorizationParams',
  'resource',
  'allowMissingPkceMetadata',
];

/** An override would undo PKCE, state or audience; the last two belong to the token request and the answer. */
const OUR_PARAMS: ReadonlySet<string> = new Set([...AUTHORIZATION_PARAMS, 'client_secret', 'code']);

export function readCredential(
  root: Shape,
  transport: TransportKind | undefined,
  addressRule?: AddressRule,
): CredentialSpec | undefined {
  const shape = root.member('credential');
  if (shape === undefined) return undefined;
  shape.refuseUnknown(MEMBERS, MEANT);
  const kind = readKind(shape);
  const owner = readOwner(shape, kind);
  const placement = transport === 'stdio' ? readEnvPlacement(shape, root) : readHeaderPlacement(shape, root, transport);
  const label = shape.text('label', lineProblem(100));
  const help = shape.text('help', helpProblem);
  const oauth = readOauth(shape, kind, addressRule);
  return kind === undefined ? undefined : { owner, kind, ...placement, label, help, ...oauth };
}

function readKind(shape: Shape): Kind | undefined {
  if (shape.raw('kind') === undefined)
    shape.refuse('kind', `is needed: one of ${KINDS.map((kind) => `"${kind}"`).join(', ')}`);
  return shape.choice('kind', KINDS);
}

function readOwner(shape: Shape, kind: Kind | undefined): CredentialSpec['owner'] {
  const owner =
    shape.choice('owner', ['principal', 'tenant']) ?? (kind === 'client_credentials' ? 'tenant' : 'principal');
  if (owner === 'tenant' && (kind === 'oauth' || kind === 'token_exchange')) {
    shape.refuse('owner', `must be "principal" for kind "${kind}": the grant belongs to the person who gave it`);
  }
  return owner;
}

function readHeaderPlacement(shape: Shape, root: Shape, transport: TransportKind | undefined): Placement {
  if (transport !== undefined && shape.has('env')) shape.refuse('env', 'is for commands; over HTTP use "header"');
  const header = (shape.text('header', headerNameProblem) ?? 'authorization').toLowerCase();
  const taken = root.namesIn('headers').some((name) => name.toLowerCase() === header);
  if (taken) shape.refuse('header', 'is also in "headers"; the server would get two identities, so keep one of them');
  // `X-Api-Key: Bearer …` is what no server expects, so the word is the default only where RFC 6750 puts it.
  const scheme = shape.text('scheme', schemeProblem) ?? (header === 'authorization' ? 'Bearer' : '');
  return { header, scheme, env: undefined };
}

function readEnvPlacement(shape: Shape, root: Shape): Placement {
  for (const name of ['header', 'scheme'].filter((member) => shape.has(member)))
    shape.refuse(name, 'is for HTTP; for a command use "env"');
  const env = shape.requiredText('env', (text) => envNameProblem(text, 'person'));
  const taken = env !== undefined && root.namesIn('env').includes(env);
  if (taken) shape.refuse('env', 'is also in "env" of the command; keep one of them');
  return { header: '', scheme: '', env };
}

type OauthParts = Pick<CredentialSpec, 'oauth' | 'clientSecret' | 'initialAccessToken'>;

function readOauth(shape: Shape, kind: Kind | undefined, addressRule: AddressRule | undefined): OauthParts {
  const oauth = shape.member('oauth');
  if (oauth === undefined) return { oauth: {}, clientSecret: undefined, initialAccessToken: undefined };
  if (kind === 'secret' && shape.has('oauth')) shape.refuse('oauth', 'does not go with kind "secret"');
  oauth.refuseUnknown(OAUTH_MEMBERS, { scope: 'scopes', audience: 'resource' });
  const clientSecret = oauth.text('clientSecret', visibleTextProblem);
  if (clientSecret !== undefined && !oauth.has('clientId')) oauth.refuse('clientId', 'is needed with "clientSecret"');
  const initialAccessToken = oauth.text('initialAccessToken', visibleTextProblem);
  return {
    oauth: withoutUndefined({
      scopes: oauth.texts('scopes', 100, scopeProblem),
      clientId: oauth.text('clientId', visibleTextProblem),
      ...Object.fromEntries(OAUTH_URLS.map((name) => [name, oauth.text(name, urlRuleOf(name, addressRule))])),
      authorizationParams: readParams(oauth.member('authorizationParams')),
      resource: oauth.text('resource', (text) => urlProblem(text) ?? fragmentProblem(text)),
      allowMissingPkceMetadata: oauth.flag('allowMissingPkceMetadata'),
    }),
    clientSecret: clientSecret === undefined ? undefined : new Secret(clientSecret),
    initialAccessToken: initialAccessToken === undefined ? undefined : new Secret(initialAccessToken),
  };
}

/** The authorization endpoint is opened by the person's browser, wherever that may be; the others by us. */
function urlRuleOf(name: (typeof OAUTH_URLS)[number], addressRule: AddressRule | undefined): AddressRule {
  if (addressRule === undefined || name === 'authorizationEndpoint') return oauthUrlProblem;
  return (url) => urlProblem(url) ?? fragmentProblem(url) ?? addressRule(url);
}

function readParams(shape: Shape | undefined): Readonly<Record<string, string>> | undefined {
  if (shape === undefined) return undefined;
  const params = shape.names().map((name) => {
    if (OUR_PARAMS.has(name)) shape.refuse(name, 'may not be set: this parameter is written by the proxy');
    return [name, shape.text(name, lineProblem(1024)) ?? ''] as const;
  });
  return Object.fromEntries(params);
}

function withoutUndefined(members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
